import { html } from './html.ts';
import { layout } from './layout.ts';

const firstQuery = `query Start {
  organizations(first: 10) {
    nodes {
      name
      machine_name
    }
  }
}
`;

/** The page at `/explorer`. All it does is in its script: the server neither sees nor keeps what is typed until it is run. */
export function explorerPage(): string {
  return layout({
    title: 'GraphQL explorer · Portico',
    path: '/explorer',
    styles: ['explorer.css'],
    scripts: ['explorer.js'],
    main: html`<div class="explorer">
<h1 class="unseen">GraphQL explorer</h1>
<form class="tools" id="access" autocomplete="off">
<label for="token">API token</label>
<input id="token" type="password" autocomplete="off" spellcheck="false" placeholder="From first-run.json" aria-describedby="token-note">
<button type="submit">Use</button>
<button type="button" id="forget" class="quiet" hidden>Forget</button>
<p id="token-note" class="note">Kept in this tab until it is closed, sent only to this server.</p>
</form>
<section class="pane editor" aria-labelledby="query-label">
<div class="head"><h2><label id="query-label" for="query">Query</label></h2>
<button type="button" id="run" class="main" aria-keyshortcuts="Control+Enter">Run <kbd>Ctrl ⏎</kbd></button></div>
<textarea id="query" spellcheck="false" autocapitalize="off" aria-describedby="query-help">${firstQuery}</textarea>
<p id="query-help" class="unseen">Tab indents; press Escape, then Tab, to leave the editor.</p>
<div class="head"><h2><label for="variables">Variables</label></h2><span class="note">JSON</span></div>
<textarea id="variables" class="small" spellcheck="false" autocapitalize="off" placeholder="{}"></textarea>
</section>
<section class="pane result" aria-labelledby="result-label">
<div class="head"><h2 id="result-label">Result</h2><span id="status" class="note" role="status"></span></div>
<pre id="result" tabindex="0"></pre>
</section>
<section class="pane schema" aria-labelledby="schema-label">
<div class="head"><h2 id="schema-label">Schema</h2><nav id="trail" aria-label="Place in the schema"></nav></div>
<div class="find"><label class="unseen" for="find">Find a type or field</label>
<input id="find" type="search" placeholder="Find a type or field"></div>
<div id="schema"><p class="note">Give a token to read the schema.</p></div>
</section>
<noscript><p>The explorer needs JavaScript. The endpoint is <code>POST /graphql</code>.</p></noscript>
</div>`,
  });
}
