import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { App } from "./app";
import { loggedOut } from "./base/api";
import { live } from "./base/live";
import { begin, session } from "./base/session";
import { followTheme } from "./base/settings";
import "./style/colours.css";
import "./style/frame.css";
import "./style/parts.css";
import "./style/table.css";
import "./style/pages.css";

followTheme();
loggedOut.listen(() => {
  live.stop();
  session.set({ at: "out", why: null });
});
void begin();

const root = document.getElementById("root");
if (root) createRoot(root).render(<StrictMode><App /></StrictMode>);
