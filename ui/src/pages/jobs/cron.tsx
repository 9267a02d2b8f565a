import { useEffect, useState } from "react";

import { useRead } from "../../base/query";
import { clean } from "../../logic/text";
import { stamp } from "../../logic/time";

interface Preview {
  times: string[];
  words: string;
  timezone: string;
}

/** What a cron expression means, in words, and the next ten times in the job's own zone. Asked for while somebody types. */
export function CronPreview({ expression, zone }: { expression: string; zone: string }) {
  const [asked, ask] = useState({ expression, zone });
  useEffect(() => {
    const timer = setTimeout(() => ask({ expression, zone }), 250);
    return () => clearTimeout(timer);
  }, [expression, zone]);
  const read = useRead<Preview>(asked.expression.trim() ? "/v1/cron/preview" : null, { expression: asked.expression, timezone: asked.zone || "UTC", n: 10 });
  if (!asked.expression.trim()) return <div className="cron quiet">Five fields: minute, hour, day, month, day of the week. Or @daily, @hourly …</div>;
  if (read.error) return <div className="cron wrong" role="status">{clean(read.error.message)}</div>;
  if (read.data === null) return <div className="cron quiet" role="status">…</div>;
  return <CronTimes preview={read.data} />;
}

export function CronTimes({ preview }: { preview: Preview }) {
  return (
    <div className="cron" role="status">
      <p className="words">{clean(preview.words)} <span className="quiet">({clean(preview.timezone)})</span></p>
      <ol className="times">
        {preview.times.map((at) => <li key={at}><time dateTime={at}>{weekday(at, preview.timezone)} {stamp(new Date(at), preview.timezone).slice(0, 16)}</time></li>)}
      </ol>
    </div>
  );
}

function weekday(at: string, zone: string): string {
  return new Intl.DateTimeFormat("en-GB", { weekday: "short", timeZone: zone }).format(new Date(at));
}
