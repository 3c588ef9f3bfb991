import type { Settings } from '../services.ts';

/** Where outside services call a workflow with a webhook trigger. */
export const webhookUrl = ({ public_url }: Pick<Settings, 'public_url'>, workflowId: string): string =>
  `${public_url}/webhooks/ai/workflows/${workflowId}`;
