/** Media types of the files a site usually holds (IANA names), by extension. */
const types: Record<string, string> = {
  // Without a prototype: a file may be called `constructor`.
  __proto__: null as never,
  md: 'text/markdown',
  mdx: 'text/mdx',
  markdown: 'text/markdown',
  txt: 'text/plain',
  html: 'text/html',
  htm: 'text/html',
  css: 'text/css',
  js: 'text/javascript',
  mjs: 'text/javascript',
  ts: 'text/x-typescript',
  tsx: 'text/x-typescript',
  json: 'application/json',
  map: 'application/json',
  webmanifest: 'application/manifest+json',
  wasm: 'application/wasm',
  rss: 'application/rss+xml',
  atom: 'application/atom+xml',
  yml: 'application/yaml',
  yaml: 'application/yaml',
  toml: 'application/toml',
  xml: 'application/xml',
  svg: 'image/svg+xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  ico: 'image/x-icon',
  mp4: 'video/mp4',
  webm: 'video/webm',
  mp3: 'audio/mpeg',
  ogg: 'audio/ogg',
  wav: 'audio/wav',
  pdf: 'application/pdf',
  zip: 'application/zip',
  woff: 'font/woff',
  woff2: 'font/woff2',
  ttf: 'font/ttf',
};

/** Media type of a file by its name; an unknown one is plain text or bytes. */
export function mimeOf(path: string, isText: boolean): string {
  const extension = path.slice(path.lastIndexOf('.') + 1).toLowerCase();
  return types[extension] ?? (isText ? 'text/plain' : 'application/octet-stream');
}

const documents = new Set([
  'application/pdf',
  'text/html',
  'image/svg+xml',
  'application/xml',
  'application/rss+xml',
  'application/atom+xml',
]);
const subresources = new Set(['text/javascript', 'text/css']);

/** Types a browser would render as a page: always sent as a download. */
export const isActiveType = (mime: string) => documents.has(mime);

/** The type a file is sent as from the origin of the API: its pages allow scripts and styles of this origin, and plain text is neither. */
export const servedType = (mime: string) => (subresources.has(mime) ? 'text/plain' : mime);
