import { useId, useState, type FormEvent } from "react";

import type { Json } from "../base/api";
import { asRefused } from "../base/query";
import type { Refused } from "../base/api";
import { check, fields, first, type Field, type Schema, type Typed } from "../logic/schema";
import { clean } from "../logic/text";
import { Failure } from "./page";

/** A form made from a JSON schema. What is wrong is said at its field; what the server refuses, at the top. */
export function SchemaForm({ schema, verb, submit, cancel, start }: {
  schema: Schema; verb: string; submit: (value: Record<string, Json>) => Promise<unknown>; cancel?: () => void; start?: Typed;
}) {
  const [typed, setTyped] = useState<Typed>(() => ({ ...first(schema), ...start }));
  const [wrong, setWrong] = useState<Record<string, string>>({});
  const [refused, setRefused] = useState<Refused | null>(null);
  const [busy, setBusy] = useState(false);
  const base = useId();
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const checked = check(schema, typed);
    setWrong(checked.ok ? {} : checked.wrong);
    if (!checked.ok) {
      document.getElementById(`${base}-${Object.keys(checked.wrong)[0]}`)?.focus();
      return;
    }
    setBusy(true);
    setRefused(null);
    try {
      await submit(checked.value);
    } catch (error) {
      setRefused(asRefused(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form className="form" onSubmit={(event) => void send(event)} noValidate>
      {refused && <Failure of={refused} />}
      {fields(schema).map((one, n) => (
        <FieldRow key={one.name} id={`${base}-${one.name}`} field={one} value={typed[one.name] ?? ""} wrong={wrong[one.name]} begins={n === 0}
          change={(value) => setTyped({ ...typed, [one.name]: value })} />
      ))}
      <footer className="dialog-foot">
        {cancel && <button type="button" onClick={cancel}>Cancel</button>}
        <button type="submit" className="primary" disabled={busy}>{verb}</button>
      </footer>
    </form>
  );
}

function FieldRow({ id, field, value, wrong, begins, change }: {
  id: string; field: Field; value: string; wrong: string | undefined; begins: boolean; change: (value: string) => void;
}) {
  const hints = [field.hint && `${id}-hint`, wrong && `${id}-wrong`].filter(Boolean).join(" ") || undefined;
  const common = { id, "aria-describedby": hints, "aria-invalid": wrong ? true : undefined, "aria-required": field.required || undefined, "data-first": begins || undefined };
  return (
    <div className={field.kind === "boolean" ? "field row" : "field"}>
      {field.kind === "boolean" && <input {...common} type="checkbox" checked={value === "true"} onChange={(event) => change(String(event.target.checked))} />}
      <label htmlFor={id}>{clean(field.label)}{field.required && <span className="needed" aria-hidden="true"> *</span>}</label>
      {field.kind === "choice" ? (
        <select {...common} value={value} onChange={(event) => change(event.target.value)}>
          {!field.required && <option value="">–</option>}
          {field.required && value === "" && <option value="">choose…</option>}
          {field.choices.map((one) => <option key={one} value={one}>{clean(one)}</option>)}
        </select>
      ) : field.kind === "json" || field.kind === "long" ? (
        <textarea {...common} rows={field.kind === "json" ? 5 : 3} spellCheck={false} className="mono" value={value} onChange={(event) => change(event.target.value)} />
      ) : field.kind !== "boolean" ? (
        <input {...common} type={field.kind === "secret" ? "password" : "text"} inputMode={field.kind === "number" || field.kind === "integer" ? "decimal" : undefined}
          autoComplete={field.kind === "secret" ? "new-password" : "off"} value={value} onChange={(event) => change(event.target.value)} />
      ) : null}
      {field.hint && <p id={`${id}-hint`} className="hint">{clean(field.hint)}</p>}
      {wrong && <p id={`${id}-wrong`} className="wrong">{clean(`${field.label} ${wrong}`)}.</p>}
    </div>
  );
}
