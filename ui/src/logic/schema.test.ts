import { describe, expect, it } from "vitest";

import { check, fields, first, titled, type Schema } from "./schema";

const schema: Schema = {
  type: "object",
  required: ["name", "size"],
  properties: {
    name: { type: "string", description: "What it is called." },
    size: { type: "integer", minimum: 1, maximum: 10 },
    ratio: { type: ["number", "null"] },
    colour: { enum: ["red", "green"], default: "red" },
    loud: { type: "boolean" },
    tags: { type: "array", items: { type: "string" } },
    extra: { type: "object" },
  },
};

describe("forms from schemas", () => {
  it("makes a field of each property", () => {
    expect(fields(schema).map((one) => [one.name, one.kind, one.required])).toEqual([
      ["name", "text", true], ["size", "integer", true], ["ratio", "number", false], ["colour", "choice", false],
      ["loud", "boolean", false], ["tags", "list", false], ["extra", "json", false],
    ]);
    expect(first(schema)["colour"]).toBe("red");
  });
  it("reads what was typed", () => {
    const typed = { name: "a", size: "3", ratio: "0.5", colour: "green", loud: "true", tags: "x, y,", extra: '{"a": [1]}' };
    expect(check(schema, typed)).toEqual({
      ok: true, value: { name: "a", size: 3, ratio: 0.5, colour: "green", loud: true, tags: ["x", "y"], extra: { a: [1] } },
    });
  });
  it("leaves out what was left empty", () => {
    expect(check(schema, { ...first(schema), name: "a", size: "1" })).toEqual({ ok: true, value: { name: "a", size: 1, colour: "red" } });
  });
  it("says how a list is written, unless something better is said", () => {
    const hints = fields({ properties: { tags: { type: "array", items: { type: "string" } }, who: { type: "array", items: { type: "string" }, description: "Names." }, n: { type: "integer" } } });
    expect(hints.map((one) => one.hint)).toEqual(["With commas between them.", "Names.", ""]);
  });
  it("takes nothing for an empty list where a list is needed", () => {
    const items: Schema = { required: ["items"], properties: { items: { type: "array", items: { type: "string" } }, tags: { type: "array", items: { type: "string" } } } };
    expect(check(items, { items: "", tags: "" })).toEqual({ ok: true, value: { items: [] } });
  });
  it("names the fields of our own forms by words", () => {
    expect(fields(titled({ properties: { max_steps: { type: "integer" }, id: { type: "string", title: "Subject" } } })).map((one) => one.label)).toEqual(["Max steps", "Subject"]);
    expect(fields(schema)[0]?.label).toBe("name");
  });
  it("does not send what is too short", () => {
    const secret: Schema = { required: ["value"], properties: { value: { type: "string", format: "password", minLength: 8 } } };
    expect(check(secret, { value: "short" })).toEqual({ ok: false, wrong: { value: "must have at least 8 characters" } });
    expect(check(secret, { value: "long enough" })).toMatchObject({ ok: true });
  });
  it("says what is wrong, at which field", () => {
    const found = check(schema, { name: " ", size: "11", ratio: "x", colour: "blue", extra: "{" });
    expect(found.ok).toBe(false);
    expect(found.ok ? [] : Object.keys(found.wrong)).toEqual(["name", "size", "ratio", "colour", "extra"]);
    expect(found.ok ? "" : found.wrong["size"]).toBe("must be at most 10");
  });
});
