import { createHash } from 'node:crypto';
import { links, page, type Site, type SiteAnswer } from './site-server.ts';

export interface TreeSite {
  site: Site;
  /** Path of every page. */
  pages: Set<string>;
  /** Path of every asset. */
  assets: Set<string>;
  /** Body by path. */
  bodies: Map<string, string | Buffer>;
  /** Those of them that answer with an ETag, and 304 when it is sent back. */
  validated: Set<string>;
}

const branches = 5;
const levels = 4;
const png = Buffer.from('89504e470d0a1a0a', 'hex');
const sheet = `@font-face { font-family: f; src: url("font.woff2") }\nbody { background: url(/css/back.png); font-family: f }`;

/** Parents on the level above the leaves that change in the second edition: the first five gain a page, the others lose one. */
const changing = Array.from({ length: 10 }, (_, index) => `/a${index % 5}/b${Math.floor(index / 5)}/c0/`);
const gaining = new Set(changing.slice(0, 5));
const losing = new Set(changing.slice(5));

function childrenOf(path: string, depth: number, edition: 1 | 2): string[] {
  if (depth === levels) return [];
  // Names that differ by level: `/0/0/0/0/` would look like a trap.
  const name = 'abcd'[depth];
  const children = Array.from({ length: branches }, (_, index) => `${path}${name}${index}/`);
  if (edition === 1) return children;
  if (losing.has(path)) children.pop();
  if (gaining.has(path)) children.push(`${path}${name}${branches}/`);
  return children;
}

/**
 * A tree of five branches and four levels under its root: 781 pages, an image on each, one sheet with a font and a background. In the
 * second edition ten pages have changed, since five have one more child and five one less. Half of everything has validators.
 */
export function treeSite(edition: 1 | 2 = 1): TreeSite {
  const answers = new Map<string, SiteAnswer>();
  const pages = new Set<string>();
  const assets = new Set<string>();
  const addAsset = (path: string, type: string, body: string | Buffer) => {
    assets.add(path);
    answers.set(path, { headers: { 'Content-Type': type }, body });
  };
  const grow = (path: string, depth: number): void => {
    const children = childrenOf(path, depth, edition);
    const image = `/img${path}i.png`;
    pages.add(path);
    const head = '<link rel="stylesheet" href="/css/site.css">';
    answers.set(path, page(`Page ${path}`, head, `<img src="${image}" alt="">`, links(children)));
    addAsset(image, 'image/png', Buffer.concat([png, Buffer.from(path)]));
    for (const child of children) grow(child, depth + 1);
  };
  grow('/', 0);
  addAsset('/css/site.css', 'text/css', sheet);
  addAsset('/css/font.woff2', 'font/woff2', 'wOF2font');
  addAsset('/css/back.png', 'image/png', Buffer.concat([png, Buffer.from('background')]));

  const etags = new Map<string, string>();
  for (const [path, { body = '' }] of answers) {
    const isValidated = createHash('sha256').update(path).digest().readUInt8(0) % 2 === 0;
    if (isValidated) etags.set(path, `"${createHash('sha256').update(body).digest('hex').slice(0, 16)}"`);
  }
  return {
    pages,
    assets,
    bodies: new Map([...answers].map(([path, { body = '' }]) => [path, body])),
    validated: new Set(etags.keys()),
    site({ path, headers }) {
      const etag = etags.get(path);
      const answer = answers.get(path);
      if (etag === undefined || answer === undefined) return answer;
      if (headers['if-none-match'] === etag) return { status: 304, headers: { ETag: etag } };
      return { ...answer, headers: { ...answer.headers, ETag: etag } };
    },
  };
}

/** What a crawl of the second edition finds after one of the first, over pages and assets. */
export function treeChanges() {
  const before = treeSite(1);
  const after = treeSite(2);
  const counts = { unchanged_304: 0, unchanged_hash: 0, changed: 0, new: 0, removed: 0 };
  for (const [path, body] of after.bodies) {
    const old = before.bodies.get(path);
    if (old === undefined) counts.new += 1;
    else if (Buffer.compare(Buffer.from(old), Buffer.from(body)) !== 0) counts.changed += 1;
    else if (after.validated.has(path)) counts.unchanged_304 += 1;
    else counts.unchanged_hash += 1;
  }
  for (const path of before.bodies.keys()) if (!after.bodies.has(path)) counts.removed += 1;
  return counts;
}
