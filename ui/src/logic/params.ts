/** What a DAG's params, a flow's parameters and types of ours say, as JSON schema: forms are made from that alone. */

import type { Json } from "../base/api";
import type { Schema } from "./schema";

export type Param = {
  type: string;
  default?: Json;
  nullable?: boolean;
  choices?: Json[];
  minimum?: number;
  maximum?: number;
  description?: string;
};

export function schemaOf(params: Readonly<Record<string, Param>>): Schema {
  const properties: Record<string, Schema> = {};
  const required: string[] = [];
  for (const [name, param] of Object.entries(params)) {
    properties[name] = one(param);
    if (!("default" in param) && param.nullable !== true) required.push(name);
  }
  return { type: "object", properties, required };
}

function one(param: Param): Schema {
  const schema: Schema = typed(param.type);
  if (param.description) schema.description = param.description;
  if (param.default !== undefined) schema.default = param.default;
  if (param.choices !== undefined && param.choices.length > 0) schema.enum = param.choices;
  if (param.minimum !== undefined) schema.minimum = param.minimum;
  if (param.maximum !== undefined) schema.maximum = param.maximum;
  return schema;
}

/** `string`, `[integer]`, `map`, AFL's `Long`…; what is not known may be anything. */
export function typed(type: string): Schema {
  const text = type.trim();
  if (text.startsWith("[") && text.endsWith("]")) return { type: "array", items: typed(text.slice(1, -1)) };
  const known = TYPES[text.toLowerCase()];
  return known === undefined ? {} : { type: known };
}

const TYPES: Record<string, string> = {
  string: "string", integer: "integer", int: "integer", long: "integer", number: "number", double: "number",
  boolean: "boolean", map: "object",
};
