import { describe, expect, it } from "vitest";

import { browserOf } from "./agent";

describe("browsers", () => {
  it("have a name and a system", () => {
    expect(browserOf("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36")).toBe("Chrome on Linux");
    expect(browserOf("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0")).toBe("Edge on Windows");
    expect(browserOf("Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36")).toBe("Chrome on Android");
    expect(browserOf("Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:140.0) Gecko/20100101 Firefox/140.0")).toBe("Firefox on macOS");
  });
  it("are left as they are if nobody knows them", () => {
    expect(browserOf("curl/8.1")).toBeNull();
    expect(browserOf("")).toBeNull();
    expect(browserOf("<script>Chrome/ Linux</script>")).toBeNull();
  });
});
