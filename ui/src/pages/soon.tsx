import { Empty } from "../parts/empty";
import { Page } from "../parts/page";

/** Keeps the place of a page that is being made. */
export default function Soon() {
  return <Page title="Not here yet"><Empty title="This page is being made" command="weft --help">The command line can do it already.</Empty></Page>;
}
