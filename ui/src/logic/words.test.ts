import { describe, expect, it } from "vitest";

import { sign, tone, word } from "./states";
import { clean, count, line, short } from "./text";
import { ago, brief, dated, seconds, span, stamp } from "./time";

describe("text", () => {
  it("takes out what steers a terminal", () => {
    expect(clean("\u001b[31mred\u001b[0m \u001b]0;title\u0007done")).toBe("red done");
    expect(clean("\u009b2Jx")).toBe("x");
    expect(clean("a\u0000b\u0008c")).toBe("a\ufffdb\ufffdc");
    expect(clean("one\r\ntwo\rthree\tfour")).toBe("one\ntwo\nthree\tfour");
  });
  it("shows marks that hide", () => {
    expect(clean("user\u202egnp.exe")).toBe("user‹U+202E›gnp.exe");
    expect(clean("a\u200bb\ufeff")).toBe("a‹U+200B›b‹U+FEFF›");
  });
  it("leaves letters alone", () => expect(clean("Ada – café 日本 🙂 <b>")).toBe("Ada – café 日本 🙂 <b>"));
  it("makes one line", () => {
    expect(line(" a\n\n b ")).toBe("a b");
    expect(line("x".repeat(10), 5)).toBe("xxxx…");
  });
  it("counts", () => {
    expect(count({ count: 10000, at_least: true })).toBe("10,000+");
    expect(count(null)).toBe("–");
    expect(count(1_234_567)).toBe("1.2M");
    expect(short("01890f3e-7b2c-7cc0-98c4-dc0c0c07398f")).toBe("…0c07398f");
  });
});

describe("time", () => {
  it("says durations in two units", () => {
    expect([0, 50, 90, 7200, 172800].map(brief)).toEqual(["0 s", "50 s", "1.5 min", "2 h", "2 d"]);
    expect([0, 0.84, 4.04, 59.6, 200, 7260, 190000, null].map((one) => span(one))).toEqual(
      ["0 ms", "840 ms", "4.0 s", "1 min", "3 min 20 s", "2 h 1 min", "2 d 4 h", "–"]);
  });
  it("says how long ago", () => {
    const now = Date.parse("2026-01-05T09:30:00Z");
    expect(ago(new Date(now - 180_000), now)).toBe("3 min ago");
    expect(ago(new Date(now + 30_000), now)).toBe("in 30 s");
    expect(ago(new Date(now + 400), now)).toBe("now");
    expect(ago(new Date("nonsense"), now)).toBe("–");
  });
  it("stamps in a zone", () => {
    expect(stamp(new Date("2026-07-01T22:30:05.012Z"), "Europe/Berlin", true)).toBe("2026-07-02 00:30:05.012");
    expect(stamp(new Date("nonsense"), "UTC")).toBe("–");
  });
  it("puts moments in a sentence into the zone that is shown", () => {
    expect(dated("it sleeps until 2026-07-01T22:30:05.954953+00:00, or until a signal", "Europe/Berlin")).toBe("it sleeps until 2026-07-02 00:30:05, or until a signal");
    expect(dated("version 2026-07-01 of 2026-07-01T22:30:05Z", "UTC")).toBe("version 2026-07-01 of 2026-07-01 22:30:05");
  });
  it("reads spans", () => {
    expect([seconds("15m"), seconds("6h"), seconds("7d"), seconds("x"), seconds("1h;")]).toEqual([900, 21600, 604800, null, null]);
  });
});

describe("states", () => {
  it("has a tone for every word of every vocabulary", () => {
    expect(tone("COMPLETED")).toBe("ok");
    expect(tone("timed_out")).toBe("bad");
    expect(tone("TIMEOUT")).toBe("bad");
    expect(tone("blocked")).toBe("warn");
    expect(tone("never heard of")).toBe("off");
    expect(sign("failed")).toBe("✕");
    expect(word("TIMED_OUT")).toBe("timed out");
  });
});
