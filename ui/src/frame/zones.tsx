import { useMemo, useState } from "react";

import { zone, zoneName } from "../base/settings";
import { useStore } from "../base/store";
import { matching } from "../logic/zones";
import { Dialog } from "../parts/dialog";
import { Pick } from "../parts/pick";
import { clock } from "../logic/time";
import { useNow } from "../parts/time";

/** Every zone the browser knows, found by a part of its name. */
export function Zones({ close }: { close: () => void }) {
  const now = useStore(zone);
  const at = new Date(useNow());
  const [text, setText] = useState("");
  const found = useMemo(() => matching(text, zoneName("local")), [text]);
  return (
    <Dialog title="Time zone" close={close} wide high>
      <Pick label="Search time zones" hint="A city or a region: berlin, new york, utc …" list="Zones" text={text} type={setText} found={found} id={(one) => one}
        choose={(one) => { zone.set(one); close(); }}>
        {(one) => (
          <>
            <span className="found-name">{one === "local" ? `${zoneName(one)} (yours)` : one.replaceAll("_", " ")}</span>
            {one === now && <span aria-label="chosen">✓</span>}
            <span className="quiet">{clock(at, one).slice(0, 5)}</span>
          </>
        )}
      </Pick>
      <p className="quiet" role="status">{found.length ? "" : "No zone is called so."}</p>
    </Dialog>
  );
}
