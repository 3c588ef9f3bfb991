import { Account, type AccountQuery, type AccountQueryVariables } from '../../documents.ts';
import type { PageQuery } from '../../lib/client.ts';

/** Where the person is signed in, and by what; who they are is known already. */
export const accountQuery = (): PageQuery<AccountQuery, AccountQueryVariables> => ({ query: Account, variables: {} });
