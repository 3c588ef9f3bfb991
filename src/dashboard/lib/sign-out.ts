import { SignOut } from '../documents.ts';
import { client } from './client.ts';

/** Ends the session and loads the page anew, so that nothing of the person stays in memory. */
export async function signOut(): Promise<void> {
  await client.mutation(SignOut, {}).toPromise();
  location.assign('/sign-in');
}
