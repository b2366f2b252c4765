// Markdown to DOM nodes: headings, paragraphs, lists, quotes, tables, rules, fenced code; bold, italic, code, links.
// Every piece of text becomes a text node, never HTML: what a model writes cannot run.

function element(name, text) {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  return e;
}

const kInline = /(`+)([\s\S]*?[^`])\1(?!`)|\*\*([^\s*](?:[\s\S]*?[^\s])?)\*\*|(?<![\w*])\*([^\s*](?:[^*]*[^\s*])?)\*(?!\w)|(?<!\w)_([^\s_](?:[^_]*[^\s_])?)_(?!\w)|\[([^\]\n]+)\]\(((?:https?:\/\/|mailto:)[^\s)]+)\)|(https?:\/\/[^\s<>)"']*[^\s<>)"'.,;:!?])/g;

function link(text, target) {
  const a = element("a");
  a.href = target;
  a.rel = "noopener noreferrer";
  a.target = "_blank";
  a.append(...text);
  return a;
}

function inline(text, depth = 0) {
  const nodes = [];
  let last = 0;
  for (const m of depth > 6 ? [] : text.matchAll(kInline)) {
    if (m.index > last) nodes.push(document.createTextNode(text.slice(last, m.index)));
    const [whole, , code, bold, star, underscore, label, target, bare] = m;
    let node;
    if (code !== undefined) node = element("code", code.trim());
    else if (bold !== undefined) (node = element("strong")).append(...inline(bold, depth + 1));
    else if (label !== undefined) node = link(inline(label, depth + 1), target);
    else if (bare !== undefined) node = link([document.createTextNode(bare)], bare);
    else (node = element("em")).append(...inline(star ?? underscore, depth + 1));
    nodes.push(node);
    last = m.index + whole.length;
  }
  if (last < text.length) nodes.push(document.createTextNode(text.slice(last)));
  return nodes;
}

function codeBlock(language, lines) {
  const pre = element("pre"), code = element("code", lines.join("\n"));
  if (language) code.dataset.language = language;
  const copy = element("button", "Copy");
  copy.type = "button";
  copy.className = "copy";
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent);
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  });
  pre.append(code, copy);
  return pre;
}

const kItem = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;

function list(lines) {
  const first = lines[0].match(kItem), ordered = /\d/.test(first[2]);
  const node = element(ordered ? "ol" : "ul");
  if (ordered && parseInt(first[2], 10) !== 1) node.start = parseInt(first[2], 10);
  let item = null;
  for (const line of lines) {
    const m = line.match(kItem);
    if (m && m[1].length <= first[1].length + 1) {
      item = [m[3]];
      node.append(element("li"));
      node.lastChild.lines = item;
    } else {
      item.push(line.replace(/^ {1,4}/, ""));
    }
  }
  for (const li of node.children) {
    const [head, ...rest] = li.lines;
    li.append(...inline(head));
    if (rest.some((l) => l.trim())) li.append(...blocks(rest));
  }
  return node;
}

function cells(line) {
  return line.trim().replace(/^\||\|$/g, "").split("|").map((c) => c.trim());
}

function table(lines) {
  const node = element("table"), head = element("thead"), body = element("tbody");
  lines.forEach((line, i) => {
    if (i === 1) return;
    const row = element("tr");
    for (const text of cells(line)) {
      const cell = element(i === 0 ? "th" : "td");
      cell.append(...inline(text));
      row.append(cell);
    }
    (i === 0 ? head : body).append(row);
  });
  node.append(head, body);
  return node;
}

// While `stays(line)`, from lines[i] on.
function run(lines, i, stays) {
  let end = i;
  while (end < lines.length && stays(lines[end], end)) end++;
  return end;
}

function blocks(lines) {
  const nodes = [];
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    const fence = line.match(/^\s*(```+|~~~+)\s*([\w+#.-]*)/);
    if (fence) {
      const end = run(lines, i + 1, (l) => !l.trim().startsWith(fence[1]));
      nodes.push(codeBlock(fence[2], lines.slice(i + 1, end)));
      i = end + 1;
    } else if (!line.trim()) {
      i++;
    } else if (/^#{1,6}\s/.test(line)) {
      const level = line.match(/^#+/)[0].length;
      const h = element(`h${Math.min(level + 2, 6)}`);
      h.append(...inline(line.replace(/^#+\s+|\s+#+$/g, "")));
      nodes.push(h);
      i++;
    } else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
      nodes.push(element("hr"));
      i++;
    } else if (/^\s*>/.test(line)) {
      const end = run(lines, i, (l) => /^\s*>/.test(l));
      const quote = element("blockquote");
      quote.append(...blocks(lines.slice(i, end).map((l) => l.replace(/^\s*> ?/, ""))));
      nodes.push(quote);
      i = end;
    } else if (kItem.test(line)) {
      const end = run(lines, i, (l, at) => kItem.test(l) || /^\s{2,}\S/.test(l) || (!l.trim() && kItem.test(lines[at + 1] ?? "")));
      nodes.push(list(lines.slice(i, end)));
      i = end;
    } else if (line.includes("|") && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[i + 1] ?? "")) {
      const end = run(lines, i, (l) => l.includes("|"));
      nodes.push(table(lines.slice(i, end)));
      i = end;
    } else {
      const end = run(lines, i + 1, (l) => l.trim() && !/^\s*(```|~~~|>|#{1,6}\s)/.test(l) && !kItem.test(l));
      const p = element("p");
      lines.slice(i, end).forEach((l, n) => {
        if (n > 0) p.append(element("br"));
        p.append(...inline(l));
      });
      nodes.push(p);
      i = end;
    }
  }
  return nodes;
}

export function markdown(text) {
  return blocks(text.split(/\r?\n/));
}
