import { useCalm, useChange, useRead } from "../../base/query";
import { Link } from "../../base/router";
import { zone } from "../../base/settings";
import { useStore } from "../../base/store";
import { hours, type Coming } from "../../logic/calendar";
import { clean } from "../../logic/text";
import { clock } from "../../logic/time";
import { Empty } from "../../parts/empty";
import { Failure, Loading } from "../../parts/page";
import { useNow } from "../../parts/time";

/** Which jobs fire in each hour of the coming day, in the chosen zone. */
export function Calendar() {
  const read = useRead<{ items: Coming[]; truncated?: boolean }>("/v1/jobs/upcoming", { hours: 24, limit: 500 });
  useChange("jobs", {}, useCalm(read.anew, 2000), 30_000);
  const shown = useStore(zone);
  const now = Math.floor(useNow() / 60_000) * 60_000;
  if (read.error) return <Failure of={read.error} again={read.again} />;
  if (read.data === null) return <Loading />;
  if (read.data.items.length === 0) return <Empty title="Nothing fires in the coming day" command={'weft jobs create nightly --cron "0 2 * * *" --task report'} />;
  const day = hours(read.data.items, now, shown);
  return (
    <>
      {read.data.truncated && <p className="quiet">Only the first 500 times are shown.</p>}
      <ol className="calendar" aria-label="The coming 24 hours">
        {day.map((hour) => (
          <li key={hour.from} className={hour.count ? "calendar-hour" : "calendar-hour none"}>
            <div className="calendar-head"><span>{hour.label}</span>{hour.count > 0 && <span>{hour.count}×</span>}</div>
            {hour.slots.slice(0, 4).map((slot) => (
              <Link key={slot.job_id} to={`/jobs/${slot.job_id}`} className="calendar-job"
                title={`${clean(slot.name)}: ${slot.times.slice(0, 12).map((at) => clock(new Date(at), shown).slice(0, 5)).join(", ")}${slot.times.length > 12 ? " …" : ""}`}>
                {clean(slot.name)}{slot.times.length > 1 ? ` ×${slot.times.length}` : ""}
              </Link>
            ))}
            {hour.slots.length > 4 && <span className="quiet calendar-job">{hour.slots.length - 4} more</span>}
          </li>
        ))}
      </ol>
    </>
  );
}
