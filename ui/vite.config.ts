import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The server's policy allows no inline script or style and no foreign host: nothing may be put into the page as data.
// the tests are of logic and need no browser
export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../src/weft/web/dist",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
  },
  server: { proxy: { "/v1": { target: "http://127.0.0.1:8712", ws: true }, "/aiopslab": "http://127.0.0.1:8712" } },
});
