import account from './account.ts';
import type assistant from './assistant.ts';
import content from './content.ts';
import drafts from './drafts.ts';
import type entry from './entry.ts';
import type environment from './environment.ts';
import files from './files.ts';
import frame from './frame.ts';
import home from './home.ts';
import media from './media.ts';
import organization from './organization.ts';
import type { outside } from './outside.ts';
import publish from './publish.ts';
import settings from './settings.ts';
import site from './site.ts';
import start from './start.ts';
import type workflows from './workflows.ts';

/** Texts that the pages for people who are signed in share, and of small pages. */
export const inside = {
  account,
  content,
  drafts,
  files,
  frame,
  home,
  media,
  organization,
  publish,
  settings,
  site,
  start,
};

type Texts<Catalogue> = { [Namespace in keyof Catalogue]: { [Key in keyof Catalogue[Namespace]]: string } };
/** Texts in the parts they are loaded in, which each language has to have. */
export interface Messages {
  outside: Texts<typeof outside>;
  inside: Texts<typeof inside>;
  assistant: Texts<{ assistant: typeof assistant }>;
  entry: Texts<{ entry: typeof entry }>;
  environment: Texts<{ environment: typeof environment }>;
  workflows: Texts<{ workflows: typeof workflows }>;
}
