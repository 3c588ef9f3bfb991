import { joinPath } from '../../../schema/site-layout.ts';
import type { DeploymentSettings } from '../../deployment.entity.ts';

/** The directory a deployment publishes, relative to the repository. */
export const outputDirectory = ({
  root_directory,
  output_directory,
}: Pick<DeploymentSettings, 'root_directory' | 'output_directory'>): string =>
  joinPath(root_directory, output_directory);
