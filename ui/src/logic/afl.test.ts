import { describe, expect, it } from "vitest";
import { byLine, highlighted } from "./afl";

const roles = (source: string) => highlighted(source).map((line) => line.filter((one) => one.role !== "plain").map((one) => `${one.role} ${one.text}`));

describe("highlighted", () => {
  it("knows words, types, references and numbers", () => {
    expect(roles("facet F(a: Long = 1.5) // x")).toEqual([["keyword facet", "type Long", "number 1.5", "comment // x"]]);
    expect(roles("s = F(a = $.in.x)")).toEqual([["reference $.in.x"]]);
  });

  it("keeps strings and comments that span lines, and every character", () => {
    const source = '/** doc\n * more */\nfacet X() "a\nb \\" c" /* open\n';
    expect(highlighted(source).map((line) => line.map((one) => one.text).join("")).join("\n")).toBe(source);
    expect(roles(source)[1]).toEqual(["doc  * more */"]);
    expect(roles(source)[3]?.[0]).toBe('string b \\" c"');
  });

  it("takes no long time for hostile text", () => {
    const source = '"' + "\\".repeat(50_000) + "/*".repeat(50_000);
    expect(highlighted(source).flat().map((one) => one.text).join("")).toBe(source);
  });
});

describe("byLine", () => {
  it("puts what is outside at the nearest line", () => {
    const one = { severity: "error", message: "m", column: 1 };
    expect([...byLine([{ ...one, line: 0 }, { ...one, line: 2 }, { ...one, line: 99 }], 3).keys()]).toEqual([1, 2, 3]);
  });
});
