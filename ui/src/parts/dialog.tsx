import { useEffect, useId, useRef, useState, type ReactNode } from "react";

import { store, useStore } from "../base/store";
import { clean, shown } from "../logic/text";
import { told } from "./toast";

/** A dialog of the browser's own kind: it holds the focus, and Escape closes it. */
export function Dialog({ title, close, children, wide = false, high = false }: {
  title: string; close: () => void; children: ReactNode; wide?: boolean; high?: boolean;
}) {
  const box = useRef<HTMLDialogElement>(null);
  const name = useId();
  useEffect(() => {
    const dialog = box.current;
    const before = document.activeElement;
    if (dialog && !dialog.open) dialog.showModal();
    // browsers begin with the first thing that takes the focus, which is the cross
    dialog?.querySelector<HTMLElement>("[data-first]")?.focus();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog ref={box} className={`dialog${wide ? " wide" : ""}${high ? " high" : ""}`} aria-labelledby={name}
      onCancel={(event) => { event.preventDefault(); close(); }}
      onClick={(event) => event.target === box.current && close()}>
      <div className="dialog-inside">
        <header className="dialog-head">
          <h2 id={name}>{clean(title)}</h2>
          <button type="button" className="plain" aria-label="Close" onClick={close}>✕</button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

interface Question {
  title: string;
  text: ReactNode;
  /** The word on the button: what will be done. */
  verb: string;
  danger?: boolean;
  /** For what cannot be taken back: this must be typed first. */
  type?: string;
}
const asked = store<{ question: Question; answer: (yes: boolean) => void } | null>(null);

/** Asks before something is done; true if it shall be. */
export function confirm(question: Question): Promise<boolean> {
  return new Promise((answer) => asked.set({ question, answer }));
}

/** Asks, does it, and says what came of it. */
export async function confirmed(question: Question, deed: () => Promise<unknown>, done: string): Promise<boolean> {
  if (!(await confirm(question))) return false;
  return (await told(deed, done)) !== undefined;
}

/** Where questions appear: once, in the frame. */
export function Questions() {
  const now = useStore(asked);
  if (!now) return null;
  const answer = (yes: boolean): void => {
    asked.set(null);
    now.answer(yes);
  };
  return <Ask key={now.question.title} question={now.question} answer={answer} />;
}

function Ask({ question, answer }: { question: Question; answer: (yes: boolean) => void }) {
  const [typed, setTyped] = useState("");
  const ready = !question.type || typed === question.type;
  return (
    <Dialog title={question.title} close={() => answer(false)}>
      <form onSubmit={(event) => { event.preventDefault(); if (ready) answer(true); }}>
        <div className="dialog-text">{shown(question.text)}</div>
        {question.type && (
          <label className="field">
            <span>Type <code>{clean(question.type)}</code> to go on</span>
            <input data-first value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" />
          </label>
        )}
        <footer className="dialog-foot">
          <button type="button" onClick={() => answer(false)}>Keep as it is</button>
          <button type="submit" className={question.danger ? "danger" : "primary"} disabled={!ready} data-first={question.type ? undefined : true}>{question.verb}</button>
        </footer>
      </form>
    </Dialog>
  );
}
