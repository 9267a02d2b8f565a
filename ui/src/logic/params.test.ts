import { describe, expect, it } from "vitest";
import { schemaOf, typed } from "./params";

describe("params", () => {
  it("become a schema with what must be given", () => {
    const schema = schemaOf({
      day: { type: "string", description: "Which day" },
      shops: { type: "[string]", default: ["ulm"] },
      level: { type: "integer", minimum: 1, maximum: 3, nullable: true },
      mode: { type: "string", choices: ["full", "delta"], default: "delta" },
    });
    expect(schema.required).toEqual(["day"]);
    expect(schema.properties?.["shops"]).toEqual({ type: "array", items: { type: "string" }, default: ["ulm"] });
    expect(schema.properties?.["level"]).toEqual({ type: "integer", minimum: 1, maximum: 3 });
    expect(schema.properties?.["mode"]?.enum).toEqual(["full", "delta"]);
  });

  it("know AFL's types too, and leave others open", () => {
    expect(typed("Long")).toEqual({ type: "integer" });
    expect(typed("[[Double]]")).toEqual({ type: "array", items: { type: "array", items: { type: "number" } } });
    expect(typed("Json")).toEqual({});
    expect(typed("geo.Place")).toEqual({});
  });
});
