import { Component, useMemo, type ReactNode } from "react";

import { match, useHere } from "./base/router";
import { session } from "./base/session";
import { useStore } from "./base/store";
import { Layout } from "./frame/layout";
import { Login } from "./pages/login";
import { NotFound } from "./pages/not_found";
import { clean } from "./logic/text";
import { Loading } from "./parts/page";
import { ROUTES } from "./routes";

export function App() {
  const now = useStore(session);
  const url = useHere();
  if (now.at === "asking") return <Loading />;
  if (now.at === "out") return <Login why={now.why} />;
  return (
    <Layout>
      <Broken key={url.pathname}><Place path={url.pathname} /></Broken>
    </Layout>
  );
}

function Place({ path }: { path: string }) {
  const found = useMemo(() => {
    for (const route of ROUTES) {
      const hit = match(route.path, path);
      if (hit) return { route, hit };
    }
    return null;
  }, [path]);
  return found ? <found.route.page match={found.hit} /> : <NotFound />;
}

/** A page that breaks leaves the frame standing, and says so. */
class Broken extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <div className="page">
        <div className="failure" role="alert">
          <p><strong>This page broke: {clean(error.message)}</strong></p>
          <p className="quiet">Nothing was changed by it. Reload; if it breaks again, tell us the address of this page.</p>
          <button type="button" onClick={() => location.reload()}>Reload</button>
        </div>
      </div>
    );
  }
}
