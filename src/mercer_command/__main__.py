"""The command ``python -m mercer_command``."""

from mercer_command import main

main()
