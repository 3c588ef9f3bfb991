import type { InsideTexts } from '../en/inside.ts';
import account from './account.ts';
import content from './content.ts';
import drafts from './drafts.ts';
import entry from './entry.ts';
import files from './files.ts';
import frame from './frame.ts';
import home from './home.ts';
import media from './media.ts';
import organization from './organization.ts';
import publish from './publish.ts';
import settings from './settings.ts';
import site from './site.ts';
import start from './start.ts';
import workflows from './workflows.ts';

export const inside: InsideTexts = {
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
