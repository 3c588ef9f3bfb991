import { type Html, html } from './html.ts';

interface Page {
  title: string;
  /** Path of the page, to mark it in the navigation. */
  path: string;
  /** Names of further stylesheets and scripts. */
  styles?: string[];
  scripts?: string[];
  main: Html;
}

const navigation = [
  ['/', 'Dashboard'],
  ['/reference', 'API reference'],
  ['/explorer', 'GraphQL explorer'],
] as const;

/** What keeps a page to itself: no other page frames it, its type is not guessed, its address is not passed on. @param policy sources of its content (CSP Level 3) */
export const pageHeaders = (policy: readonly string[]): Record<string, string> => ({
  'Content-Security-Policy': policy.join('; '),
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
});

/** A whole page: the frame all pages share around what is theirs. */
export function layout({ title, path, styles = [], scripts = [], main }: Page): string {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="/site/icon.svg" type="image/svg+xml">
${['site.css', ...styles].map((name) => html`<link rel="stylesheet" href="/site/${name}">\n`)}
${['copy.js', ...scripts].map((name) => html`<script type="module" src="/site/${name}"></script>\n`)}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="bar">
<a class="name" href="/"><img src="/site/icon.svg" alt="" width="24" height="24">Portico</a>
<nav aria-label="Pages">
${navigation.map(([to, text]) => html`<a href="${to}"${to === path && html` aria-current="page"`}>${text}</a>\n`)}
</nav>
</header>
<main id="main" tabindex="-1">
${main}
</main>
</body>
</html>
`;
  return page.text;
}

/** A command or file to copy; a script adds the button, so that without scripts there is no dead one. */
export const copyable = (label: string, text: string): Html =>
  html`<div class="sample" data-copy><pre tabindex="0" aria-label="${label}"><code>${text}</code></pre></div>`;
