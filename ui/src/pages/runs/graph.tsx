/** The graph of a run or of a DAG. Loaded when it is first looked at: xyflow and dagre are most of its size. */

import dagre from "@dagrejs/dagre";
import { Background, Controls, Handle, MiniMap, Position, ReactFlow, useReactFlow, useStore, type Edge, type Node, type NodeHandle, type NodeProps } from "@xyflow/react";
import { memo, useEffect, useMemo, useRef, useState, type RefObject } from "react";

import { picture, tally, worst, type Box, type GraphNode, type Picture } from "../../logic/graph";
import { HEIGHT, WIDTH, places, upright, type Place } from "../../logic/layers";
import { sign, tone, word } from "../../logic/states";
import { clean, line } from "../../logic/text";
import "@xyflow/react/dist/base.css";
import "../../style/graph.css";

/** More boxes than this are laid out in layers: dagre takes seconds for thousands. */
const FEW = 150;
const FIT = { maxZoom: 1, minZoom: 0.2, padding: 0.08 };

const ACROSS: NodeHandle[] = [{ type: "target", position: Position.Left, x: 0, y: HEIGHT / 2 }, { type: "source", position: Position.Right, x: WIDTH, y: HEIGHT / 2 }];
const DOWN: NodeHandle[] = [{ type: "target", position: Position.Top, x: WIDTH / 2, y: 0 }, { type: "source", position: Position.Bottom, x: WIDTH / 2, y: HEIGHT }];

type Shown = { box: Box; state: string | null; hint: string; counts: [string, number][]; chosen: boolean; down: boolean; press: () => void; look: (() => void) | null };
type BoxNode = Node<Shown, "box">;

export interface GraphProps {
  nodes: readonly GraphNode[];
  /** State of each node by its name; null: a plan that nobody runs. */
  states: ReadonlyMap<string, string> | null;
  opened: ReadonlySet<string>;
  open: (box: string) => void;
  chosen: string | null;
  choose: (node: string) => void;
  /** Nodes that have a block inside, which can be looked at. */
  inside?: ReadonlyMap<string, () => void>;
}

export default function Graph({ nodes, states, opened, open, chosen, choose, inside }: GraphProps) {
  const drawn = useMemo(() => picture(nodes, opened), [nodes, opened]);
  const moved = useRef(false);
  const [phone] = useState(() => matchMedia("(max-width: 640px)").matches);
  const { at, down } = useMemo(() => {
    if (drawn.boxes.length > FEW) return { at: places(drawn), down: false };
    const across = byDagre(drawn, false);
    if (!phone) return { at: across, down: false };
    // a phone is tall and narrow: whichever way boxes are larger
    const below = byDagre(drawn, true);
    return room(below) >= room(across) ? { at: below, down: true } : { at: across, down: false };
  }, [drawn, phone]);
  const byName = useMemo(() => new Map(nodes.map((node) => [node.name, node])), [nodes]);
  const boxes = useMemo(
    () => drawn.boxes.map((box): BoxNode => {
      const first = box.members[0] ?? "";
      const single = box.kind === "node";
      const node = byName.get(first);
      const counts = states === null || single ? [] : [...tally(box.members, states)];
      const state = states === null ? null : single ? (states.get(first) ?? "pending") : worst(counts.map(([one]) => one));
      const press = (): void => (single ? choose(first) : open(box.id));
      const hint = single ? [node?.what, node?.each ? "for each" : "", node?.conditional ? "if" : ""].filter(Boolean).join(" · ") : `${box.members.length} tasks`;
      return {
        id: box.id, type: "box", position: at.get(box.id) ?? { x: 0, y: 0 }, width: WIDTH, height: HEIGHT,
        // said, not measured: what is measured is forgotten with every change, and edges are not drawn until it is again
        handles: down ? DOWN : ACROSS,
        // xyflow lets nothing through to boxes that cannot be dragged or selected
        style: { pointerEvents: "all" },
        data: { box, state, hint, counts, press, down, chosen: single && chosen === first, look: (single && inside?.get(first)) || null },
      };
    }),
    [drawn, at, byName, states, chosen, choose, open, inside, down],
  );
  const edges = useMemo(
    () => drawn.edges.map((edge): Edge => ({ id: `${edge.from}>${edge.to}`, source: edge.from, target: edge.to, focusable: false })),
    [drawn],
  );
  useEffect(() => {
    // after the browser has painted: what a person waits for
    const frame = requestAnimationFrame(() => setTimeout(() => performance.mark("weft:graph"), 0));
    return () => cancelAnimationFrame(frame);
  }, [drawn]);
  const ys = [...at.values()].map((place) => place.y);
  const tall = ys.reduce((most, y) => Math.max(most, y), 0) + HEIGHT - ys.reduce((least, y) => Math.min(least, y), 0);
  return (
    <div className="graph" role="group" aria-label="Graph" style={{ height: `clamp(220px, ${Math.round(tall + 120)}px, min(66vh, 640px))` }}>
      <ReactFlow nodes={boxes} edges={edges} nodeTypes={TYPES} key={drawn.boxes.length > 0 ? "some" : "none"} fitView
        fitViewOptions={FIT} onMoveStart={(event) => { if (event) moved.current = true; }} minZoom={0.03} maxZoom={1.6} onlyRenderVisibleElements={drawn.boxes.length > FEW}
        nodesDraggable={false} nodesConnectable={false} nodesFocusable={false} edgesFocusable={false} elementsSelectable={false}
        zoomOnScroll={false} preventScrolling={false} panOnScroll={false} proOptions={{ hideAttribution: true }}>
        <Background gap={24} size={1} />
        {opened.size === 0 && <Fit boxes={boxes.length} moved={moved} />}
        <Controls showInteractive={false} />
        {drawn.boxes.length > 30 && <MiniMap pannable zoomable nodeClassName={(node) => `mini-${tone((node as BoxNode).data.state ?? "")}`} ariaLabel="The whole graph, small" />}
      </ReactFlow>
    </div>
  );
}

/** All of it stays in sight when there are more boxes, or less room beside the panel of a step; until somebody moves it. */
function Fit({ boxes, moved }: { boxes: number; moved: RefObject<boolean> }) {
  const { fitView } = useReactFlow();
  const width = useStore((state) => state.width);
  useEffect(() => {
    // where there is little room boxes stay large enough to be touched
    if (!moved.current && width > 0) void fitView(width <= 640 ? { ...FIT, minZoom: 0.6 } : FIT);
  }, [boxes, width, moved, fitView]);
  return null;
}

const BoxView = memo(function BoxView({ data }: NodeProps<BoxNode>) {
  const { box, state, hint, counts } = data;
  const total = box.members.length;
  const label = line(box.label, 80);
  // the name a screen reader says begins with what is seen
  const said = `${state === null ? "" : `, ${word(state)}`}${box.kind === "node" ? "" : ", opens"}`;
  return (
    <div className={`graph-box kind-${box.kind}${state === null ? "" : ` tone-${tone(state)}`}${data.chosen ? " chosen" : ""}`}>
      <Handle type="target" position={data.down ? Position.Top : Position.Left} isConnectable={false} />
      <button type="button" className="graph-press nodrag nopan" onClick={data.press} title={clean(box.label)}>
        <span className="graph-name">{state !== null && <span aria-hidden="true" className="graph-sign">{sign(state)}</span>} {label}<span className="unseen">{said}</span></span>
        <span className="graph-hint">{line(hint, 60)}</span>
        {counts.length > 0 && (
          <span className="graph-counts" aria-hidden="true">
            {counts.map(([one, n]) => <span key={one} className={`fill-${tone(one)}`} style={{ width: `${(100 * n) / total}%` }} title={`${word(one)}: ${n}`} />)}
          </span>
        )}
      </button>
      {data.look && <button type="button" className="graph-look nodrag nopan" onClick={data.look} aria-label={`Look inside ${label}`}>⤢</button>}
      <Handle type="source" position={data.down ? Position.Bottom : Position.Right} isConnectable={false} />
    </div>
  );
});

const TYPES = { box: BoxView };

function byDagre(drawn: Picture, down: boolean): ReadonlyMap<string, Place> {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: down ? "TB" : "LR", nodesep: 18, ranksep: down ? 36 : 60 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const box of drawn.boxes) graph.setNode(box.id, { width: WIDTH, height: HEIGHT });
  for (const edge of drawn.edges) graph.setEdge(edge.from, edge.to);
  dagre.layout(graph);
  const at = new Map(
    drawn.boxes.map((box) => {
      const { x, y } = graph.node(box.id);
      return [box.id, { x: x - WIDTH / 2, y: y - HEIGHT / 2 }];
    }),
  );
  return upright(drawn.boxes.map((box) => box.id), at, down);
}

/** How large boxes can be drawn if all are to be seen on a phone. */
function room(at: ReadonlyMap<string, Place>): number {
  let [wide, tall] = [WIDTH, HEIGHT];
  for (const place of at.values()) [wide, tall] = [Math.max(wide, place.x + WIDTH), Math.max(tall, place.y + HEIGHT)];
  return Math.min(350 / wide, 500 / tall);
}
