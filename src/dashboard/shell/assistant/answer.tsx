/**
 * An answer as it is read: Markdown without HTML. A model may have written it of what others wrote, so no image is loaded, since its address could
 * carry something away, and a link shows the host it leads to.
 */
import type { PhrasingContent, RootContent } from 'mdast';
import { memo, type ReactNode } from 'react';
import { parseMarkdown, safeAddress } from '../../lib/markdown.ts';
import { MarkedText } from '../../parts/marked-text.tsx';
import classes from './assistant.module.css';

type Content = RootContent | PhrasingContent;

function Destination({ address, children }: { address: string; children: ReactNode }) {
  const safe = safeAddress(address);
  if (safe === null) return children;
  const { host, origin } = new URL(safe, location.href);
  if (origin === location.origin) return <a href={safe}>{children}</a>;
  return (
    <a href={safe} target="_blank" rel="noopener noreferrer nofollow">
      {children} <span className={classes.host}>({host || safe})</span>
    </a>
  );
}

const all = (nodes: readonly Content[]) => nodes.map((node, at) => <Piece key={at} node={node} />);

function Piece({ node }: { node: Content }): ReactNode {
  switch (node.type) {
    case 'text':
    case 'html':
      return <MarkedText text={node.value} />;
    case 'paragraph':
      return <p>{all(node.children)}</p>;
    case 'heading':
      return <p className={classes.heading}>{all(node.children)}</p>;
    case 'strong':
      return <strong>{all(node.children)}</strong>;
    case 'emphasis':
      return <em>{all(node.children)}</em>;
    case 'delete':
      return <del>{all(node.children)}</del>;
    case 'inlineCode':
      return (
        <code>
          <MarkedText text={node.value} />
        </code>
      );
    case 'code':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it may scroll, and so has to be reached by keyboard
        <pre tabIndex={0}>
          <MarkedText text={node.value} />
        </pre>
      );
    case 'blockquote':
      return <blockquote>{all(node.children)}</blockquote>;
    case 'list': {
      const List = node.ordered ? 'ol' : 'ul';
      return <List {...(node.ordered && node.start != null && { start: node.start })}>{all(node.children)}</List>;
    }
    case 'listItem':
      return <li>{all(node.children)}</li>;
    case 'link':
      return <Destination address={node.url}>{all(node.children)}</Destination>;
    case 'image':
      return <Destination address={node.url}>{node.alt || node.url}</Destination>;
    case 'break':
      return <br />;
    case 'thematicBreak':
      return <hr />;
    case 'table':
      return (
        <div className={classes.table}>
          <table>
            <tbody>
              {node.children.map((row, at) => (
                <tr key={at}>
                  {row.children.map((cell, column) =>
                    at === 0 ? <th key={column}>{all(cell.children)}</th> : <td key={column}>{all(cell.children)}</td>,
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    default:
      return 'children' in node ? all(node.children as Content[]) : null;
  }
}

/** Read anew only when its text has changed: others stay while one is written. */
export const Answer = memo(function Answer({ text }: { text: string }) {
  return <div className={classes.answer}>{all(parseMarkdown(text).children)}</div>;
});
