import { fixedSite, page, type SiteAnswer } from './site-server.ts';

const image = (path: string): [string, SiteAnswer] => [
  path,
  {
    headers: { 'Content-Type': 'image/png' },
    body: Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.from(path)]),
  },
];
const css = (path: string, body: string): [string, SiteAnswer] => [
  path,
  { headers: { 'Content-Type': 'text/css' }, body },
];
const other = (path: string, type: string, body = path): [string, SiteAnswer] => [
  path,
  { headers: { 'Content-Type': type }, body },
];

/** One page with every way to need an asset. */
const start = `<!doctype html>
<html><head><title>Assets</title>
<link rel="stylesheet" href="/css/main.css">
<link rel="icon" href="/a/icon.png">
<link rel="apple-touch-icon" href="/a/touch.png">
<link rel="manifest" href="/site.webmanifest">
<link rel="preload" as="image" href="/a/preload.png" imagesrcset="/a/pre1.png 1x, /a/pre2.png 2x">
<link rel="modulepreload" href="/a/module.js">
<meta property="og:image" content="/a/og.png">
<meta name="twitter:image" content="/a/twitter.png">
<style>@import url("/css/inline-import.css") screen; .x { background: url('/a/style-element.png') }</style>
<script src="/a/script.js"></script>
<script>var never = "<img src='/never/in-script.png'>"; load("/never/string.png")</script>
</head>
<body background="/a/body.png">
<!-- <img src="/never/comment.png"> -->
<img src="/a/img.png"><img data-src="/a/lazy.png" data-srcset="/a/lazy1.png 1x, /a/lazy2.png 2x">
<img srcset="/a/set1.png 100w, /a/set,comma.png 200w, data:image/png;base64,AAAA 300w, /a/set3.png 400w">
<picture><source srcset="/a/source.png"></picture>
<img src="data:image/png;base64,AAAA"><img src="blob:http://localhost/never"><a href="javascript:void('/never/js')">x</a>
<a href="mailto:a@example.com">m</a><a href="tel:123">t</a>
<audio src="/a/sound.mp3"></audio>
<video src="/a/film.mp4" poster="/a/poster.png"><track src="/a/track.vtt"></video>
<video><source src="/a/film2.mp4"></video>
<embed src="/a/embed.swf"><object data="/a/object.pdf"></object>
<form method="post" action="/never/post"><input type="image" src="/a/input.png"></form>
<table background="/a/table.png"><tr><td>x</td></tr></table>
<svg><image href="/a/svg.png"/><use xlink:href="/a/sprite.svg#part"/></svg>
<div style="background-image: url(&quot;/a/style-attribute.png&quot;)">x</div>
<template><img src="/a/template.png"></template>
<noscript><img src="/a/noscript.png"></noscript>
<iframe srcdoc="&lt;img src=&quot;/a/srcdoc.png&quot;&gt;"></iframe>
<iframe src="/frame"></iframe>
<map name="m"><area href="/area"></map>
<form method="get" action="/search"></form>
<form method="get" action="/never/fields"><input name="q"></form>
</body></html>`;

const main = `@import "sub/one.css";
@import url(sub/two.css) layer(base) supports(display: grid) screen;
@font-face { font-family: f; src: url(/a/font.woff2) format("woff2"), url('/a/font.woff') }
.a { background: url( "sheet.png" ) }
.b { background: url(\\2f a\\2f escaped.png) }
.c { background-image: image-set("/a/low.png" 1x, url(/a/high.png) 2x) }
.d { background: url(data:image/png;base64,AAAA) } .e { background: url(#fragment) }
/* url(/never/css-comment.png) */
.f::after { content: "url(/never/string.png)" }`;

const manifest = JSON.stringify({
  start_url: '/from-manifest',
  icons: [{ src: 'a/manifest-icon.png' }],
  screenshots: [{ src: '/a/screenshot.png' }],
});

const answers = new Map<string, SiteAnswer>([
  ['/', { headers: { 'Content-Type': 'text/html' }, body: start }],
  ...['/frame', '/area', '/search', '/from-manifest'].map((path): [string, SiteAnswer] => [path, page(path)]),
  css('/css/main.css', main),
  css('/css/sub/one.css', '@import "../main.css"; .x { background: url(one.png) }'),
  css('/css/sub/two.css', '.y { background: url(../two.png) }'),
  css('/css/inline-import.css', '.z { background: url(inline.png) }'),
  other('/site.webmanifest', 'application/manifest+json', manifest),
  ...['/css/sheet.png', '/css/sub/one.png', '/css/two.png', '/css/inline.png'].map(image),
  ...[
    ...[
      'icon',
      'touch',
      'preload',
      'pre1',
      'pre2',
      'og',
      'twitter',
      'style-element',
      'body',
      'img',
      'lazy',
      'lazy1',
      'lazy2',
    ],
    ...[
      'set1',
      'set,comma',
      'set3',
      'source',
      'poster',
      'input',
      'table',
      'svg',
      'style-attribute',
      'template',
      'noscript',
    ],
    ...['srcdoc', 'escaped', 'low', 'high', 'manifest-icon', 'screenshot'],
  ].map((name) => image(`/a/${name}.png`)),
  ...['module.js', 'script.js'].map((name) => other(`/a/${name}`, 'text/javascript')),
  ...['font.woff2', 'font.woff'].map((name) => other(`/a/${name}`, 'font/woff')),
  ...['film.mp4', 'film2.mp4'].map((name) => other(`/a/${name}`, 'video/mp4')),
  other('/a/sound.mp3', 'audio/mpeg'),
  other('/a/track.vtt', 'text/vtt'),
  other('/a/embed.swf', 'application/x-shockwave-flash'),
  other('/a/object.pdf', 'application/pdf'),
  other('/a/sprite.svg', 'image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"/>'),
]);

export const assetsSite = fixedSite(answers);
/** Everything a crawl of the site asks for, each once; nothing else, above all nothing below `/never`. */
export const assetsPaths = [...answers.keys()].sort();
/** Those of them that are pages. */
export const assetsPages = ['/', '/frame', '/area', '/search', '/from-manifest'];
