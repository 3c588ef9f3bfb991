import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { links, page, type SiteAnswer } from '../site-server.ts';
import { html, type TortureCase } from './torture-case.ts';

const to = (path: string) => links([path]);
const found = page('Found');
const ok = { state: 'done', http_status: 200 } as const;
const coded = (coding: string, body: Buffer): SiteAnswer => ({
  headers: { 'Content-Type': 'text/html', 'Content-Encoding': coding },
  body,
});
const brotli = (text: string) => brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });

/** A page of which each link is requested, or not. */
const leading = (
  name: string,
  path: string,
  body: string | Buffer,
  requested: string[],
  spared: string[] = [],
  type?: string,
): TortureCase => ({
  name,
  path,
  answers: { [path]: html(body, type), ...Object.fromEntries([...requested, ...spared].map((at) => [at, found])) },
  row: ok,
  requested,
  spared,
});

export const bodyCases: TortureCase[] = [
  {
    name: 'brotli and zstd',
    path: '/packed',
    answers: {
      '/packed': coded('br', brotli(to('/packed/z'))),
      '/packed/z': coded('zstd', zstdCompressSync(to('/packed/in'))),
      '/packed/in': found,
    },
    row: ok,
    requested: ['/packed/z', '/packed/in'],
  },
  {
    name: 'a coding that lies',
    path: '/lie',
    answers: { '/lie': coded('gzip', Buffer.from(to('/lie/in'))) },
    row: { state: 'error', error: 'decode', sha256: null },
    spared: ['/lie/in'],
  },
  {
    name: 'a gzip body cut short',
    path: '/cut',
    answers: { '/cut': coded('gzip', gzipSync(to('/cut/in').repeat(50)).subarray(0, -9)) },
    row: { state: 'error', error: 'body_truncated', attempts: 4 },
    spared: ['/cut/in'],
  },
  {
    name: 'a gzip bomb',
    path: '/bomb',
    answers: { '/bomb': coded('gzip', gzipSync(Buffer.alloc(24 * 1024 * 1024), { level: 9 })) },
    row: { state: 'error', error: 'body_too_large', attempts: 1 },
  },
  { name: 'an empty page', path: '/empty', answers: { '/empty': html('') }, row: { ...ok, bytes: 0 } },
  {
    name: 'HTML without a type',
    path: '/untyped',
    answers: { '/untyped': { headers: {}, body: `<!DOCTYPE html>${to('/untyped/in')}` }, '/untyped/in': found },
    row: { ...ok, content_type: 'text/html' },
    requested: ['/untyped/in'],
  },
  leading('HTML called plain text', '/plain', `<!doctype html>${to('/plain/in')}`, [], ['/plain/in'], 'text/plain'),
  leading(
    'an image called HTML',
    '/image',
    Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.from(to('/image/in'))]),
    [],
    ['/image/in'],
  ),
  leading('NUL among the letters', '/nul', `<p>\0\0</p>\0${to('/nul/in')}\0`, ['/nul/in']),
  leading('a line of 8 MB', '/line', `<p>${'x'.repeat(8_000_000)}</p>${to('/line/in')}`, ['/line/in']),
  leading('ten thousand levels', '/deep', `${'<div>'.repeat(4_000)}${to('/deep/in')}${'<b>'.repeat(6_000)}`, [
    '/deep/in',
  ]),
  leading('unclosed tags', '/unclosed', `<p><b><a href="/unclosed/in">x<table><tr><td><div`, ['/unclosed/in']),
  leading(
    'an unclosed comment',
    '/comment',
    `${to('/comment/in')}<!-- ${to('/comment/never')}`,
    ['/comment/in'],
    ['/comment/never'],
  ),
  leading(
    'two base elements',
    '/base',
    '<base href="/base/one/"><base href="/base/two/"><a href="x">',
    ['/base/one/x'],
    ['/base/two/x'],
  ),
  leading(
    'an attribute twice',
    '/twice',
    '<a href="/twice/first" href="/twice/second">x</a>',
    ['/twice/first'],
    ['/twice/second'],
  ),
  leading(
    'links in odd places',
    '/places',
    `<!-- ${to('/places/comment')} --><script>"${to('/places/script')}"</script>
     <noscript>${to('/places/noscript')}</noscript><template>${to('/places/template')}</template>
     <textarea>${to('/places/textarea')}</textarea><title>${to('/places/title')}</title>
     <iframe srcdoc="${to('/places/srcdoc').replaceAll('"', '&quot;')}"></iframe>
     <svg><a href="/places/svg"></a></svg>`,
    ['/places/noscript', '/places/template', '/places/srcdoc'],
    ['/places/comment', '/places/script', '/places/textarea', '/places/title'],
  ),
  leading(
    'links of other kinds',
    '/kinds',
    '<a href="mailto:a@b"><a href="javascript:x()"><a href="data:text/html,x"><a href="tel:1"><a href="http://[::1"><a href="http://a:b@localhost/"><a href="ftp://localhost/x"><a href="/kinds/in">',
    ['/kinds/in'],
  ),
];
