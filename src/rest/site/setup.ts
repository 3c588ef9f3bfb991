import { html } from './html.ts';
import { layout } from './layout.ts';

/** The page at `/setup`, where `first-run.json` leads until there is a browser sign-in. */
export function setupPage(): string {
  return layout({
    title: 'Set-up · Portico',
    path: '/setup',
    main: html`<div class="column">
<h1>Nothing to set up yet</h1>
<p class="lead">Signing in with a browser comes with the dashboard, in a later version. Until then this server is used with API
tokens.</p>
<p><a href="/">Where to get a token, and what to do with it</a></p>
</div>`,
  });
}
