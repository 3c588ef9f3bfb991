import type { Messages } from '../en/inside.ts';
import common from './common.ts';
import faults from './faults.ts';
import session from './session.ts';

export const outside: Messages['outside'] = {
  common,
  faults,
  session,
};
