import type { ReactNode } from "react";

import { clean, shown } from "../logic/text";
import { toast } from "./toast";

/** Nothing here yet: what belongs here, and the first command to type. */
export function Empty({ title, children, command }: { title: string; children?: ReactNode; command?: string }) {
  return (
    <div className="empty">
      <p className="empty-title">{clean(title)}</p>
      {children && <div className="quiet">{shown(children)}</div>}
      {command && <Command text={command} />}
    </div>
  );
}

/** A line to type, with a button that copies it. */
export function Command({ text }: { text: string }) {
  return (
    <div className="command">
      <pre tabIndex={0} aria-label="Command"><code>{clean(text)}</code></pre>
      <Copy text={text} />
    </div>
  );
}

export function Copy({ text, label = "Copy" }: { text: string; label?: string }) {
  const copy = (): void => {
    // browsers give the clipboard only to pages of https and localhost
    if (!navigator.clipboard) toast("This browser does not let the page copy; select the text instead", true);
    else navigator.clipboard.writeText(text).then(() => toast("Copied"), () => toast("The browser refused to copy", true));
  };
  return <button type="button" className="small" onClick={copy}>{label}</button>;
}
