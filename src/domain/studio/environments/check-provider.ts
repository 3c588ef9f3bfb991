import { fieldError } from '../../errors.ts';
import type { Environment } from './environment.entity.ts';

/** @throws DomainError `validation_failed` when an environment lacks what its provider needs. */
export function checkProvider({
  provider,
  build_command,
  deploy_webhook_url,
}: Pick<Environment, 'provider' | 'build_command' | 'deploy_webhook_url'>): void {
  if (provider === 'build' && !build_command)
    throw fieldError('validation_failed', 'build_command', 'is required, because none was found in the repository');
  if (provider === 'webhook' && !deploy_webhook_url)
    throw fieldError('validation_failed', 'deploy_webhook_url', 'is required for provider webhook');
}
