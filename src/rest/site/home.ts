import { html } from './html.ts';
import { copyable, layout } from './layout.ts';

// The project a first start imports by default; its name is public, whether it exists is not revealed.
const demo = { organization: 'demo', project: 'site' };

/** The page at `/`: what this is, and the first three things to do. Of the instance it has the address alone. */
export function homePage(publicUrl: string): string {
  const place = `${publicUrl}/api/v2/organizations/${demo.organization}/projects/${demo.project}`;
  const request = `export TOKEN=…\ncurl -H "Authorization: Bearer $TOKEN" \\\n  ${place}/studio/collections`;
  const clone = `git clone ${publicUrl.replace('://', '://token@')}/git/${demo.organization}/${demo.project}.git`;
  const commands = [
    'npm run portico -- organization create <name>',
    'npm run portico -- token create --organization <name> --preset owner',
  ].join('\n');
  return layout({
    title: 'Portico',
    path: '/',
    main: html`<div class="column">
<h1>The content of your site, in git, through one typed interface</h1>
<p class="lead">This is a Portico server at <code>${publicUrl}</code>. Read and write entries over REST and GraphQL, or
clone the repository and push: every change is a commit, and every interface shows it at once.</p>

<section aria-labelledby="token">
<h2 id="token"><span class="step" aria-hidden="true">1</span> Find your token</h2>
<p>The start that imports the demo site prints an API token for it, and keeps it in <code>first-run.json</code> in the data
directory (<code>PORTICO_DATA_DIR</code>, otherwise <code>.portico</code> where the server was started). Without the demo
(<code>PORTICO_DEMO=off</code>), or for an organisation of your own, make one:</p>
${copyable('Commands that make an organisation and a token', commands)}
</section>

<section aria-labelledby="request">
<h2 id="request"><span class="step" aria-hidden="true">2</span> Ask for something</h2>
<p>The demo, where it was imported, is organisation <code>${demo.organization}</code>, project <code>${demo.project}</code>;
otherwise put the names of your own in their place.</p>
${copyable('First request', request)}
</section>

<section aria-labelledby="clone">
<h2 id="clone"><span class="step" aria-hidden="true">3</span> Clone the content</h2>
<p>git asks for a password: it is the token. What you push is in the API with the next request.</p>
${copyable('Clone command', clone)}
</section>

<section aria-labelledby="more">
<h2 id="more">Go on from here</h2>
<ul class="interfaces">
<li><a href="/reference"><strong>API reference</strong><span>Every endpoint with its permission, fields, answers and errors</span></a></li>
<li><a href="/explorer"><strong>GraphQL explorer</strong><span>Write a query, run it here, look through the schema</span></a></li>
<li><a href="/api/v2/openapi.json"><strong>OpenAPI 3.1</strong><span>The same reference for programs</span></a></li>
</ul>
</section>
</div>`,
  });
}
