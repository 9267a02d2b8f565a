import { useEffect, useMemo, useState } from "react";

import { post, type Refused } from "../../base/api";
import { asRefused } from "../../base/query";
import { may, useMe } from "../../base/session";
import { byLine, highlighted, type Diagnostic } from "../../logic/afl";
import { clean } from "../../logic/text";
import { Failure } from "../../parts/page";
import type { SourceFile } from "./model";

/** A program with its diagnostics where they belong. It can be tried: what is typed is checked, and kept nowhere. */
export function SourceView({ files, trying = false }: { files: SourceFile[]; trying?: boolean }) {
  const [at, setAt] = useState(0);
  const file = files[at] ?? files[0];
  const [draft, setDraft] = useState<string | null>(trying ? (file?.text ?? "") : null);
  const text = draft ?? file?.text ?? "";
  const checks = may(useMe(), "flow.check");
  const found = useChecked(checks ? files.map((one, n) => (n === at ? { ...one, text } : one)) : null);
  if (!file) return null;
  return (
    <>
      <div className="filters">
        {files.length > 1 && (
          <label className="inline">File{" "}
            <select value={at} onChange={(event) => { setAt(Number(event.target.value)); setDraft(null); }}>{files.map((one, n) => <option key={one.name} value={n}>{clean(one.name)}</option>)}</select>
          </label>
        )}
        {checks && !trying && <button type="button" className="small" onClick={() => setDraft(draft === null ? file.text : null)}>{draft === null ? "Try a change" : "Back to what is saved"}</button>}
        <span className="quiet" role="status">{found.said}</span>
      </div>
      {found.error && <Failure of={found.error} />}
      {draft !== null && <textarea className="source-edit mono" aria-label="AFL source" spellCheck={false} rows={16} value={draft} onChange={(event) => setDraft(event.target.value)} />}
      <Lines text={text} found={found.diagnostics.filter((one) => !one.file || one.file === file.name)} />
    </>
  );
}

function Lines({ text, found }: { text: string; found: Diagnostic[] }) {
  const lines = useMemo(() => highlighted(clean(text).replace(/\n$/, "")), [text]);
  const wrong = useMemo(() => byLine(found, lines.length), [found, lines.length]);
  return (
    <div className="source" role="group" tabIndex={0} aria-label="Source">
      {lines.map((line, n) => {
        const here = wrong.get(n + 1) ?? [];
        const kind = here.some((one) => one.severity === "error") ? " wrong-line" : here.length ? " warn-line" : "";
        return (
          <div key={n} className={`source-line${kind}`}>
            <span className="source-number" aria-hidden="true">{n + 1}</span>
            <code className="source-code">{line.map((piece, m) => <span key={m} className={`code-${piece.role}`}>{piece.text}</span>)}</code>
            {here.map((one, m) => <span key={m} className={`source-said ${one.severity === "error" ? "error" : "warning"}`}>{clean(`${one.column}: ${one.message}${one.hint ? ` – ${one.hint}` : ""}${one.rule ? ` (${one.rule})` : ""}`)}</span>)}
          </div>
        );
      })}
    </div>
  );
}

/** What the compiler says; null: nothing is asked, because whoever looks may not. What is kept has been compiled already. */
function useChecked(files: SourceFile[] | null): { diagnostics: Diagnostic[]; error: Refused | null; said: string } {
  const [state, setState] = useState<{ diagnostics: Diagnostic[]; error: Refused | null; said: string }>({ diagnostics: [], error: null, said: "" });
  const key = files === null ? null : JSON.stringify(files);
  useEffect(() => {
    if (key === null) return;
    let over = false;
    const timer = setTimeout(() => {
      post<{ valid: boolean; diagnostics: Diagnostic[]; workflows: string[] }>("/v1/flows/check", { sources: JSON.parse(key) as SourceFile[], allow_external: true }).then(
        (answer) => over || setState({ diagnostics: answer.diagnostics, error: null, said: said(answer) }),
        (error: unknown) => over || setState({ diagnostics: [], error: asRefused(error), said: "" }),
      );
    }, 300);
    return () => { over = true; clearTimeout(timer); };
  }, [key]);
  return state;
}

function said(answer: { valid: boolean; diagnostics: Diagnostic[]; workflows: string[] }): string {
  const errors = answer.diagnostics.filter((one) => one.severity === "error").length;
  const others = answer.diagnostics.length - errors;
  if (answer.diagnostics.length === 0) return `Nothing is wrong with it; ${answer.workflows.length} ${answer.workflows.length === 1 ? "workflow" : "workflows"}.`;
  return `${errors} ${errors === 1 ? "error" : "errors"}, ${others} ${others === 1 ? "warning" : "warnings"}.`;
}
