#!/usr/bin/env bash
# Guess: libraries that read VCF files count alternative alleles as 0, 1, 2, and mark calls that are missing.
# Seen, cyvcf2 0.35.0: gt_types of 0/0, 0/1, 1/1 and ./. are 0, 1, 3 and 2: the missing call stands between
# the two that a linear kernel takes for neighbors. With gts012=True, they are 0, 1, 2 and 3. Of the genotype 1/2
# at a site of two alternatives, both are 1. scikit-allel 1.3.13: to_n_alt gives 0, 1, 2 and 0: a missing
# call is the reference, unless fill=-1 is passed; 1/2 is 2. Of ./1, the
# known allele counts, unless fill is passed.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q cyvcf2==0.35.0 scikit-allel==1.3.13 numpy==2.4.6 || exit 2
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

import allel
import cyvcf2

print("cyvcf2", version("cyvcf2"), "scikit-allel", version("scikit-allel"))
CALLS = ["0/0", "0/1", "1/1", "./.", "1/2", "./1"]
HEAD = """##fileformat=VCFv4.2
##contig=<ID=1>
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
"""
names = "CHROM POS ID REF ALT QUAL FILTER INFO FORMAT".split() + [f"s{k}" for k in range(6)]
site = "1 10 . A C,G . . . GT".split() + CALLS
with open("t.vcf", "w") as file:
    file.write(HEAD + "#" + "\t".join(names) + "\n" + "\t".join(site) + "\n")
calls = allel.GenotypeArray(allel.read_vcf("t.vcf", numbers={"ALT": 2})["calldata/GT"])


def gt_types(**options):
    return [site.gt_types.tolist() for site in cyvcf2.VCF("t.vcf", **options)][0]


FOUND = {
    "gt_types": gt_types(),
    "gt_types, gts012": gt_types(gts012=True),
    "to_n_alt": calls.to_n_alt()[0].tolist(),
    "to_n_alt, fill": calls.to_n_alt(fill=-1)[0].tolist(),
}
SEEN = [[0, 1, 3, 2, 1, 1], [0, 1, 2, 3, 1, 1], [0, 1, 2, 0, 2, 1], [0, 1, 2, -1, 2, -1]]
print("", CALLS)
for (name, found), seen in zip(FOUND.items(), SEEN, strict=True):
    print(name, found)
    assert found == seen, "the finding no longer holds"
PYTHON
