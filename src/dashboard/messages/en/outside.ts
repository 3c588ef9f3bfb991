import common from './common.ts';
import faults from './faults.ts';
import session from './session.ts';

/** Texts that pages need before somebody has signed in. */
export const outside = {
  common,
  faults,
  session,
};
