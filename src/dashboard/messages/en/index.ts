import account from './account.ts';
import common from './common.ts';
import content from './content.ts';
import drafts from './drafts.ts';
import entry from './entry.ts';
import faults from './faults.ts';
import files from './files.ts';
import frame from './frame.ts';
import home from './home.ts';
import media from './media.ts';
import organization from './organization.ts';
import publish from './publish.ts';
import session from './session.ts';
import settings from './settings.ts';
import site from './site.ts';
import start from './start.ts';
import workflows from './workflows.ts';

/** English, which all other languages have to match; a file for each page. */
export const en = {
  account,
  common,
  content,
  drafts,
  entry,
  faults,
  files,
  frame,
  home,
  media,
  organization,
  publish,
  session,
  settings,
  site,
  start,
  workflows,
};

type Same<Texts> = { [Key in keyof Texts]: string };
export type Messages = { [Namespace in keyof typeof en]: Same<(typeof en)[Namespace]> };
