/**
 * Markdown as elements of React: parsed by CommonMark and GFM, each node mapped to an element of a fixed list. Nothing of the text becomes markup:
 * HTML is shown as source, links that are no web addresses are not links, and images of other hosts are placeholders.
 */
import type { Nodes, Root } from 'mdast';
import { createElement, Fragment, type ReactNode, useState } from 'react';
import { parseMarkdown, safeAddress } from '../../lib/markdown.ts';
import { candidatePaths, fileAddress } from '../../lib/media.ts';
import classes from './markdown.module.css';

export interface MarkdownPlace {
  organization: string;
  project: string;
  branch: string | null;
  path: string | null;
}

export function Picture({ place, url, alt }: { place: MarkdownPlace; url: string; alt: string }) {
  const [at, setAt] = useState(0);
  const path = candidatePaths(place.path, url)[at];
  if (path !== undefined)
    return <img src={fileAddress(place, path)} alt={alt} loading="lazy" onError={() => setAt(at + 1)} />;
  let host = url;
  try {
    host = new URL(url).host || url;
  } catch {
    // A file that is not there is named by its path.
  }
  return (
    <span className={classes.absent} role="img" aria-label={alt || host}>
      {alt} <small>{host}</small>
    </span>
  );
}

const lineOf = (node: Nodes): { 'data-line'?: number } => {
  const line = node.position?.start.line;
  return line === undefined ? {} : { 'data-line': line };
};

/** Definitions of a document by their labels. */
type Definitions = ReadonlyMap<string, { url: string }>;

interface Context {
  place: MarkdownPlace;
  definitions: Definitions;
  /** It stands in what is clicked as a whole, so no link leads away. */
  isInert?: boolean;
}

function link(url: string, children: ReactNode, isInert = false): ReactNode {
  const address = safeAddress(url);
  if (address === null) return <span className={classes.inert}>{children}</span>;
  const isElsewhere = /^https?:|^\/\//i.test(address);
  // An address of the site leads nowhere in the preview.
  if (!isElsewhere || isInert)
    return (
      <span className={classes.link} title={address}>
        {children}
      </span>
    );
  return (
    <a href={address} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

function show(node: Nodes, context: Context): ReactNode {
  const inside = () =>
    'children' in node
      ? (node.children as Nodes[]).map((child, at) => <Fragment key={at}>{show(child, context)}</Fragment>)
      : null;
  const { place, definitions } = context;
  switch (node.type) {
    case 'root':
      return inside();
    case 'paragraph':
      return (
        <p dir="auto" {...lineOf(node)}>
          {inside()}
        </p>
      );
    case 'heading':
      // The page has its own first heading.
      return createElement(`h${Math.min(node.depth + 1, 6)}`, { dir: 'auto', ...lineOf(node) }, inside());
    case 'text':
      return node.value;
    case 'emphasis':
      return <em>{inside()}</em>;
    case 'strong':
      return <strong>{inside()}</strong>;
    case 'delete':
      return <del>{inside()}</del>;
    case 'inlineCode':
      return <code>{node.value}</code>;
    case 'break':
      return <br />;
    case 'link':
      return link(node.url, inside(), context.isInert);
    case 'linkReference':
      return link(definitions.get(node.identifier)?.url ?? '', inside(), context.isInert);
    case 'image':
      return <Picture key={node.url} place={place} url={node.url} alt={node.alt ?? ''} />;
    case 'imageReference': {
      const url = definitions.get(node.identifier)?.url ?? '';
      return <Picture key={url} place={place} url={url} alt={node.alt ?? ''} />;
    }
    case 'thematicBreak':
      return <hr {...lineOf(node)} />;
    case 'blockquote':
      return <blockquote {...lineOf(node)}>{inside()}</blockquote>;
    case 'code':
      return (
        <pre dir="ltr" {...lineOf(node)}>
          <code>{node.value}</code>
        </pre>
      );
    case 'html':
      return (
        <code className={classes.html} {...lineOf(node)}>
          {node.value}
        </code>
      );
    case 'list':
      return createElement(
        node.ordered ? 'ol' : 'ul',
        { start: node.ordered ? (node.start ?? 1) : undefined, ...lineOf(node) },
        inside(),
      );
    case 'listItem':
      return (
        <li dir="auto" {...lineOf(node)}>
          {typeof node.checked === 'boolean' && (
            <input type="checkbox" checked={node.checked} disabled aria-label={node.checked ? '☑' : '☐'} />
          )}
          {inside()}
        </li>
      );
    case 'table': {
      const [head, ...rows] = node.children;
      const row = (cells: Nodes[], tag: 'th' | 'td') =>
        cells.map((cell, at) => createElement(tag, { key: at, dir: 'auto' }, show(cell, context)));
      return (
        <div className={classes.table} {...lineOf(node)}>
          <table>
            <thead>{head && <tr>{row(head.children, 'th')}</tr>}</thead>
            <tbody>
              {rows.map((one, at) => (
                <tr key={at}>{row(one.children, 'td')}</tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    }
    case 'tableCell':
      return inside();
    case 'footnoteReference':
      return <sup>{node.label ?? node.identifier}</sup>;
    case 'footnoteDefinition':
      return (
        <div className={classes.footnote} {...lineOf(node)}>
          <sup>{node.label ?? node.identifier}</sup> {inside()}
        </div>
      );
    default:
      // Definitions, and what a later version of the parser may bring.
      return null;
  }
}

export function Markdown({ root, place }: { root: Root; place: MarkdownPlace }) {
  const definitions = new Map(
    root.children.flatMap((node) => (node.type === 'definition' ? [[node.identifier, node] as const] : [])),
  );
  return <div className={classes.markdown}>{show(root, { place, definitions })}</div>;
}

/** Text within a line, where no link leads away. */
export function Inline({ text, place }: { text: string; place: MarkdownPlace }) {
  const [block] = parseMarkdown(text).children;
  if (block?.type !== 'paragraph') return text;
  return block.children.map((child, at) => (
    <Fragment key={at}>{show(child, { place, definitions: new Map(), isInert: true })}</Fragment>
  ));
}
