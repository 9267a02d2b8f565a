import { Dialog } from "../parts/dialog";
import { NAV } from "../routes";

const KEYS: [string, string][] = [
  ["/", "search everything"],
  ["?", "this help"],
  ["↑ ↓ or k j", "go through a list"],
  ["Enter", "open the row"],
  ["x", "choose the row, where rows can be chosen"],
  ["← →", "go from tab to tab"],
  ["Esc", "close what is open"],
];

export function Help({ close }: { close: () => void }) {
  return (
    <Dialog title="Keys" close={close} wide>
      <div className="two">
        <dl className="keys">
          {KEYS.map(([key, what]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}
        </dl>
        <dl className="keys">
          {NAV.map((one) => <div key={one.to}><dt><kbd>g</kbd> <kbd>{one.key}</kbd></dt><dd>{one.name}</dd></div>)}
        </dl>
      </div>
    </Dialog>
  );
}
