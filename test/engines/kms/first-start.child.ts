import { openLocalKeyring } from '../../../src/engines/kms/local-keyring.ts';

// Waits until the parent lets all of them go at the same moment.
process.once('message', async (dataDirectory: string) => {
  const kms = await openLocalKeyring({ dataDirectory });
  const { keys } = await kms.describe();
  process.send?.({ created: kms.created, keys: keys.map((key) => key.id) });
  process.disconnect();
});
process.send?.('ready');
