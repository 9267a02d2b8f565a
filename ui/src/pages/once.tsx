import { Command } from "../parts/empty";
import { Dialog } from "../parts/dialog";

/** Something secret that is shown this one time. */
export function Once({ title, value, close }: { title: string; value: string; close: () => void }) {
  return (
    <Dialog title={title} close={close}>
      <p className="dialog-text">Keep it now: only its hash is stored, and it is never shown again.</p>
      <Command text={value} />
      <footer className="dialog-foot"><button type="button" className="primary" onClick={close}>I have it</button></footer>
    </Dialog>
  );
}
