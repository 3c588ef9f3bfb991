import { below, joinPath } from '../../../schema/site-layout.ts';
import { type AnyNode, isNode, MAX_SOURCE, nodesOf, parseModule } from '../../../schema/static/syntax.ts';
import { type RouteSegment, routeOfFile, routeSegments } from '../file-routes.ts';
import type { RouteReading } from '../rule.ts';

/** What a parameter of a page takes from an entry: its id, or a field; `unclear` when the code does not say it plainly. */
export type ParameterSource = { kind: 'id' } | { kind: 'field'; name: string } | { kind: 'unclear' };

/** A page that is written once for each entry of collections. */
export interface PageTemplate {
  path: string;
  segments: RouteSegment[];
  /** Its file is called `index`. */
  index: boolean;
  collections: ReadonlySet<string>;
  parameters: ReadonlyMap<string, ParameterSource>;
  /** Its code leaves drafts out. */
  hidesDrafts: boolean;
}

const maxTemplates = 300;

/** The pages with parameters whose `getStaticPaths` reads collections. Their code is parsed, never run. */
export async function readTemplates(reading: RouteReading, pages: string): Promise<PageTemplate[]> {
  const paths = reading.paths.filter((path) => {
    const rest = below(pages, path);
    return rest?.includes('[') && rest.endsWith('.astro') && !rest.split('/').some((part) => part.startsWith('_'));
  });
  const templates = await Promise.all(paths.slice(0, maxTemplates).map((path) => readTemplate(path, pages, reading)));
  return templates.filter((one) => one !== null);
}

async function readTemplate(path: string, pages: string, reading: RouteReading): Promise<PageTemplate | null> {
  const rest = below(pages, path) ?? '';
  const segments = routeSegments(routeOfFile(rest));
  const script = scriptOf((await reading.site.read(path)) ?? '');
  reading.dependencies.add(path);
  if (segments === null || script === null) return null;
  try {
    const program = await parseModule(`${path}.ts`, script);
    return { path, segments, index: /(^|\/)index\.astro$/.test(rest), ...inspect(program) };
  } catch {
    const message = 'The code of the page cannot be read; what it publishes is not known';
    reading.warnings.push({ code: 'page_unreadable', message, path });
    return null;
  }
}

/** The code between the first two fences. */
function scriptOf(text: string): string | null {
  if (text.length > MAX_SOURCE) return null;
  return /^\s*---[ \t]*\r?\n([\s\S]*?)\r?\n---/.exec(text)?.[1] ?? null;
}

function inspect(program: unknown): Pick<PageTemplate, 'collections' | 'parameters' | 'hidesDrafts'> {
  const collections = new Set<string>();
  const parameters = new Map<string, ParameterSource>();
  let hidesDrafts = false;
  for (const node of nodesOf(staticPaths(program) ?? program)) {
    if (node.type === 'CallExpression') {
      const [first] = Array.isArray(node.arguments) ? node.arguments : [];
      const name = isNode(node.callee) && node.callee.type === 'Identifier' ? node.callee.name : '';
      const reads = name === 'getCollection' || name === 'getLiveCollection';
      if (reads && isNode(first) && first.type === 'StringLiteral') collections.add(String(first.value));
    } else if (node.type === 'ObjectProperty' && keyOf(node) === 'params' && isNode(node.value)) {
      for (const member of Array.isArray(node.value.properties) ? node.value.properties : []) {
        const key = isNode(member) && member.type === 'ObjectProperty' ? keyOf(member) : null;
        if (key !== null) parameters.set(key, sourceOf((member as AnyNode).value));
      }
    } else if (node.type === 'Identifier' && node.name === 'draft') hidesDrafts = true;
  }
  return { collections, parameters, hidesDrafts };
}

const keyOf = (node: AnyNode): string | null =>
  isNode(node.key) ? String(node.key.name ?? node.key.value ?? '') : null;

/** The function a page exports as `getStaticPaths`. */
function staticPaths(program: unknown): AnyNode | null {
  for (const node of nodesOf(program)) {
    const named = isNode(node.id) && node.id.name === 'getStaticPaths';
    if (named && (node.type === 'FunctionDeclaration' || node.type === 'VariableDeclarator')) return node;
  }
  return null;
}

/** `post.id` is the id, `post.data.topic` a field; anything made of them is unclear. */
function sourceOf(value: unknown): ParameterSource {
  if (!isNode(value)) return { kind: 'unclear' };
  if (value.type === 'Identifier') return /^(id|slug)$/.test(String(value.name)) ? { kind: 'id' } : { kind: 'unclear' };
  if (!/MemberExpression$/.test(value.type) || !isNode(value.property)) return { kind: 'unclear' };
  const name = String(value.property.name ?? value.property.value ?? '');
  const { object } = value;
  if (isNode(object) && object.type === 'Identifier' && (name === 'id' || name === 'slug')) return { kind: 'id' };
  const data = isNode(object) && isNode(object.property) ? object.property.name : object && (object as AnyNode).name;
  return data === 'data' ? { kind: 'field', name } : { kind: 'unclear' };
}

/** Directory of the pages. */
export const pagesDirectory = (root: string, source: string | undefined): string =>
  joinPath(root, (source ?? 'src').replace(/^(\.?\/)+|\/+$/g, ''), 'pages');
