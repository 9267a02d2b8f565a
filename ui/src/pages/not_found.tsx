import { Link } from "../base/router";
import { Empty } from "../parts/empty";
import { Page } from "../parts/page";

export function NotFound() {
  return (
    <Page title="There is no such page">
      <Empty title="Nothing has this address">
        <p>Perhaps the link was cut. Search with <kbd>/</kbd>, or begin at the <Link to="/">overview</Link>.</p>
      </Empty>
    </Page>
  );
}
