import type { Messages } from '../en/inside.ts';
import account from './account.ts';
import content from './content.ts';
import drafts from './drafts.ts';
import files from './files.ts';
import frame from './frame.ts';
import home from './home.ts';
import media from './media.ts';
import organization from './organization.ts';
import publish from './publish.ts';
import settings from './settings.ts';
import site from './site.ts';
import start from './start.ts';

export const inside: Messages['inside'] = {
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
