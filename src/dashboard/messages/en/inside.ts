import account from './account.ts';
import content from './content.ts';
import drafts from './drafts.ts';
import entry from './entry.ts';
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
import workflows from './workflows.ts';

/** Texts of the pages for people who are signed in, a file for each page; German has the same ones. */
export const inside = {
  account,
  content,
  drafts,
  entry,
  files,
  frame,
  home,
  media,
  organization,
  publish,
  settings,
  site,
  start,
  workflows,
};

type Texts<Catalogue> = { [Namespace in keyof Catalogue]: { [Key in keyof Catalogue[Namespace]]: string } };
export type OutsideTexts = Texts<typeof outside>;
export type InsideTexts = Texts<typeof inside>;
