import type { Json } from "../../base/api";
import type { GraphNode } from "../../logic/graph";
import { typed } from "../../logic/params";
import type { Schema } from "../../logic/schema";

export interface Flow {
  id: string;
  name: string;
  path: string;
  version_number: number;
  workflow_names: string[];
  tags: string[];
  created_at: string;
  updated_at: string;
}

export interface SourceFile {
  name: string;
  text: string;
  library: boolean;
}

/** The parts of a flow taken apart that pages show. */
export interface Parts {
  facets: { uuid: string; name: string; documentation: string; parameters: { name: string; type: string; value: Json; has_default: boolean }[] }[];
  workflows: { uuid: string; name: string; facet_id: string; documentation: string | null }[];
  blocks: { uuid: string; kind: string; container_id: string; variable: string | null }[];
  statements: { uuid: string; name: string; block_id: string; facet_name: string; order: number }[];
  references: { statement_id: string; references: string[] }[];
}

const YIELD = /^yield \d+$/;

/** The form of a workflow: its parameters, with what its doc comment says of each. */
export function formOf(parts: Parts, facet: string): Schema {
  const found = parts.facets.find((one) => one.uuid === facet);
  const properties: Record<string, Schema> = {};
  const required: string[] = [];
  for (const param of found?.parameters ?? []) {
    const said = new RegExp(`@param\\s+${param.name}\\s+([^\\n@]*)`).exec(found?.documentation ?? "")?.[1]?.trim();
    properties[param.name] = { ...typed(param.type), title: param.name, description: [param.type, said].filter(Boolean).join(": ") };
    const usual = param.has_default ? literal(param.value) : undefined;
    if (usual !== undefined && usual !== null) (properties[param.name] as Schema).default = usual;
    if (!param.has_default) required.push(param.name);
  }
  return { type: "object", properties, required };
}

/** A default as AFL writes it; undefined: an expression, which is the server's to work out when the field is left empty. */
function literal(value: Json): Json | undefined {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value) as Json;
  } catch {
    return undefined;
  }
}

/** What a doc comment says before it comes to the parameters, which stand at their fields. */
export function lead(documentation: string): string {
  return (documentation.split(/@(?:param|return)\b/)[0] ?? "").trim();
}

/** The statements of a workflow and of the blocks in them; a block is a group. */
export function nodesOf(parts: Parts, facet: string): GraphNode[] {
  const inside = new Map<string, string>();
  const queue: [string, string][] = [[facet, ""]];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const [container, group] = next;
    parts.blocks.filter((block) => block.container_id === container).forEach((block, n, all) => {
      const name = [group, container === facet && all.length === 1 ? "" : `${block.kind}${n || ""}`].filter(Boolean).join(".");
      inside.set(block.uuid, name);
      for (const one of parts.statements) if (one.block_id === block.uuid) queue.push([one.uuid, [name, one.name].filter(Boolean).join(".")]);
    });
  }
  const shown = parts.statements.filter((one) => inside.has(one.block_id));
  const yields = shown.filter((one) => YIELD.test(one.name)).length;
  // the compiler counts statements; where there is one yield its number says nothing
  const called = (one: { name: string }): string => (yields === 1 && YIELD.test(one.name) ? "yield" : one.name);
  const label = new Map(shown.map((one) => [one.uuid, shown.filter((other) => other.name === one.name).length > 1 ? `${one.name} (${inside.get(one.block_id) ?? ""})` : called(one)]));
  const byName = new Map(shown.map((one) => [one.name, one.uuid]));
  const named = new Map(parts.references.map((one) => [one.statement_id, one.references]));
  return shown.map((one) => {
    const after = (named.get(one.uuid) ?? []).map((of) => label.get(of) ?? label.get(byName.get(of.split(".")[0] ?? "") ?? "")).filter((of) => of !== undefined);
    const own = label.get(one.uuid) ?? one.name;
    return { name: own, after: [...new Set(after)].filter((of) => of !== own), group: inside.get(one.block_id) ?? "", what: one.facet_name, each: false, conditional: false };
  });
}
