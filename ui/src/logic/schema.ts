/** From a JSON schema to the fields of a form, and from what was typed to the value. */

import type { Json } from "../base/api";

export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  default?: Json;
  enum?: Json[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  format?: string;
  anyOf?: Schema[];
  $ref?: string;
  $defs?: Record<string, Schema>;
}
export type FieldKind = "text" | "number" | "integer" | "boolean" | "choice" | "list" | "json" | "secret" | "long";
export interface Field {
  name: string;
  label: string;
  hint: string;
  kind: FieldKind;
  required: boolean;
  first: string;
  choices: string[];
  /** What the choices stand for. */
  values: Json[];
  minimum?: number;
  maximum?: number;
  shortest?: number;
}
export type Typed = Record<string, string>;
export type Checked = { ok: true; value: Record<string, Json> } | { ok: false; wrong: Record<string, string> };

export function fields(schema: Schema): Field[] {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).map(([name, one]) => field(name, plain(one, schema.$defs ?? {}), required.has(name)));
}

/** A form of ours: its fields are words, where those of a handler or a flow are the names that its code has. */
export function titled(schema: Schema): Schema {
  const properties = Object.entries(schema.properties ?? {}).map(([name, one]): [string, Schema] => {
    const words = name.replaceAll("_", " ");
    return [name, { title: words.charAt(0).toUpperCase() + words.slice(1), ...one }];
  });
  return { ...schema, properties: Object.fromEntries(properties) };
}

/** Without references to parts of the schema, and `T or null` as T: what is left empty is left out. */
function plain(one: Schema, defs: Record<string, Schema>, deep = 0): Schema {
  const { $ref: ref, anyOf, ...rest } = one;
  const named = ref?.startsWith("#/$defs/") ? defs[ref.slice(8)] : undefined;
  if (named && deep < 8) return { ...plain(named, defs, deep + 1), ...rest };
  const real = anyOf?.filter((two) => two.type !== "null") ?? [];
  const single = real.length === 1 ? real[0] : undefined;
  return single && deep < 8 ? { ...plain(single, defs, deep + 1), ...rest } : one;
}

function field(name: string, one: Schema, required: boolean): Field {
  const made: Field = {
    name,
    label: one.title ?? name.replaceAll("_", " "),
    hint: one.description ?? (kind(one) === "list" ? "With commas between them." : ""),
    kind: kind(one),
    // an empty list is one, too
    required: required && one.default === undefined && kind(one) !== "list",
    first: one.default === undefined || one.default === null ? "" : shown(one.default, kind(one)),
    choices: one.enum?.filter((choice) => choice !== null).map((choice) => (typeof choice === "string" ? choice : JSON.stringify(choice))) ?? [],
    values: one.enum?.filter((choice) => choice !== null) ?? [],
  };
  if (one.minimum !== undefined) made.minimum = one.minimum;
  if (one.maximum !== undefined) made.maximum = one.maximum;
  if (one.minLength !== undefined) made.shortest = one.minLength;
  return made;
}

function kind(one: Schema): FieldKind {
  const types = Array.isArray(one.type) ? one.type.filter((type) => type !== "null") : one.type ? [one.type] : [];
  if (one.enum) return "choice";
  if (types.length !== 1) return "json";
  switch (types[0]) {
    case "string":
      return one.format === "password" ? "secret" : one.format === "long" ? "long" : "text";
    case "integer":
      return "integer";
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "array":
      return one.items?.type === "string" ? "list" : "json";
    default:
      return "json";
  }
}

function shown(value: Json, as: FieldKind): string {
  if (as === "list" && Array.isArray(value)) return value.join(", ");
  return typeof value === "string" && as !== "json" ? value : JSON.stringify(value);
}

export function first(schema: Schema): Typed {
  return Object.fromEntries(fields(schema).map((one) => [one.name, one.first || (one.kind === "boolean" ? "false" : "")]));
}

/** The value that was typed, or what is wrong with which field. What was left empty is left out. */
export function check(schema: Schema, typed: Typed): Checked {
  const value: Record<string, Json> = {};
  const wrong: Record<string, string> = {};
  for (const one of fields(schema)) {
    const text = typed[one.name] ?? "";
    if (text.trim() === "") {
      if (one.required) wrong[one.name] = "is needed";
      else if (one.kind === "list" && schema.required?.includes(one.name)) value[one.name] = [];
      continue;
    }
    const found = read(one, text);
    if ("wrong" in found) wrong[one.name] = found.wrong;
    else if (!(one.kind === "boolean" && found.value === false && !one.required && one.first === "")) value[one.name] = found.value;
  }
  return Object.keys(wrong).length ? { ok: false, wrong } : { ok: true, value };
}

function read(one: Field, text: string): { value: Json } | { wrong: string } {
  switch (one.kind) {
    case "text":
    case "long":
    case "secret":
      return one.shortest !== undefined && text.length < one.shortest ? { wrong: `must have at least ${one.shortest} characters` } : { value: text };
    case "choice":
      return one.choices.includes(text) ? { value: one.values[one.choices.indexOf(text)] ?? text } : { wrong: `must be one of ${one.choices.join(", ")}` };
    case "boolean":
      return { value: text === "true" };
    case "list":
      return { value: text.split(",").map((part) => part.trim()).filter(Boolean) };
    case "json":
      try {
        return { value: JSON.parse(text) as Json };
      } catch (error) {
        return { wrong: `is not JSON: ${error instanceof Error ? error.message : String(error)}` };
      }
    case "integer":
    case "number": {
      const number = Number(text);
      if (!Number.isFinite(number) || (one.kind === "integer" && !Number.isInteger(number)))
        return { wrong: one.kind === "integer" ? "must be a whole number" : "must be a number" };
      if (one.minimum !== undefined && number < one.minimum) return { wrong: `must be at least ${one.minimum}` };
      if (one.maximum !== undefined && number > one.maximum) return { wrong: `must be at most ${one.maximum}` };
      return { value: number };
    }
  }
}
