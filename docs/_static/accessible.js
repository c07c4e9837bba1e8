// What the theme and the gallery leave out for people who use a keyboard or hear the page.
document.addEventListener("DOMContentLoaded", () => {
  const all = (selector) => document.querySelectorAll(selector);
  // On a narrow screen, pictures with small letters scroll in place of becoming smaller.
  all(".bd-article img:not(.sphx-glr-thumbcontainer img)").forEach((img) => {
    const frame = () => {
      if (img.naturalWidth <= 600) return;
      // Letters of 10 points are 15 pixels high in a raster image and 13 in a vector image.
      const part = /\.svg$/.test(img.src) ? 0.8 : 0.7;
      const box = document.createElement("span");
      box.className = "wide-picture";
      box.style.setProperty("--readable-width", `${Math.round(part * img.naturalWidth)}px`);
      img.replaceWith(box);
      box.append(img);
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    };
    if (img.complete) frame();
    else img.addEventListener("load", frame, { once: true });
  });
  // Wide tables, code and pictures scroll by keys.
  const wide = ["table", "pre", ".formula", "math"].map((part) => `.bd-article ${part}`);
  all(wide.join(", ")).forEach((part) => {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
  });
  // Links of pictures in the gallery have their text in a part that is not shown.
  all(".sphx-glr-thumbcontainer a").forEach((link) => {
    link.setAttribute("aria-label", link.textContent.trim());
  });
  // A button that opens a part of the navigation says which.
  all("details > summary").forEach((summary) => {
    const link = summary.closest("li")?.querySelector("a");
    if (!summary.textContent.trim() && link) {
      summary.setAttribute("aria-label", `Pages of ${link.textContent.trim()}`);
    }
  });
  // The names of buttons begin with their texts.
  all(".search-button-field").forEach((button) => {
    if (button.innerText.trim()) button.removeAttribute("aria-label");
  });
  all(".bd-article th").forEach((cell) => {
    if (!cell.textContent.trim()) cell.innerHTML = '<span class="visually-hidden">name</span>';
  });
  all(".scrapy-copy-as-markdown").forEach((button) => {
    button.setAttribute("aria-label", `${button.textContent.trim()} copies this page as Markdown`);
  });
  // Roles that readers of screens no longer know.
  all('[role="doc-biblioentry"], [role="doc-backlink"]').forEach((part) => {
    part.removeAttribute("role");
  });
  all('.citation-list[role="list"]').forEach((part) => part.removeAttribute("role"));
});
