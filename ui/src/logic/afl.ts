/** AFL as coloured pieces, line by line, with its diagnostics in place. A lexer for the eye: the compiler is the server's. */

export type Piece = { text: string; role: "keyword" | "type" | "string" | "number" | "comment" | "doc" | "reference" | "plain" };

export type Diagnostic = {
  severity: string;
  message: string;
  rule?: string;
  line: number;
  column: number;
  hint?: string | null;
};

const KEYWORDS = new Set([
  "namespace", "use", "uses", "event", "facet", "workflow", "schema", "implicit", "andThen", "andMap", "andMatch", "foreach",
  "in", "when", "case", "catch", "yield", "with", "as", "script", "python", "prompt", "system", "template", "model", "true",
  "false", "null",
]);
const TYPES = new Set(["String", "Long", "Int", "Double", "Boolean", "Json"]);

// A string may span lines, so the whole text is cut at once and the pieces then at line ends.
const TOKEN =
  /(\/\*\*[\s\S]*?(?:\*\/|$))|(\/\*[\s\S]*?(?:\*\/|$)|\/\/[^\n]*)|("(?:\\[\s\S]|[^"\\])*(?:"|$))|(\$\.[A-Za-z_][\w.]*)|(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)/g;

export function highlighted(source: string): Piece[][] {
  const lines: Piece[][] = [[]];
  let from = 0;
  for (const match of source.matchAll(TOKEN)) {
    add(lines, source.slice(from, match.index), "plain");
    add(lines, match[0], role(match));
    from = match.index + match[0].length;
  }
  add(lines, source.slice(from), "plain");
  return lines;
}

/** The diagnostics of each line, by its number from 1; those of no line stand at the first. */
export function byLine(found: readonly Diagnostic[], lines: number): Map<number, Diagnostic[]> {
  const sorted = new Map<number, Diagnostic[]>();
  for (const one of found) {
    const line = Math.min(Math.max(1, one.line), Math.max(1, lines));
    const there = sorted.get(line);
    if (there === undefined) sorted.set(line, [one]);
    else there.push(one);
  }
  return sorted;
}

function role(match: RegExpMatchArray): Piece["role"] {
  if (match[1] !== undefined) return "doc";
  if (match[2] !== undefined) return "comment";
  if (match[3] !== undefined) return "string";
  if (match[4] !== undefined) return "reference";
  if (match[5] !== undefined) return "number";
  const word = match[6] ?? "";
  return KEYWORDS.has(word) ? "keyword" : TYPES.has(word) ? "type" : "plain";
}

function add(lines: Piece[][], text: string, role: Piece["role"]): void {
  text.split("\n").forEach((part, index) => {
    if (index > 0) lines.push([]);
    if (part !== "") lines[lines.length - 1]?.push({ text: part, role });
  });
}
