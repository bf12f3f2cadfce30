/** The variable with the token of an inspector. */
export const TOKEN_VARIABLE = 'INSIDECAR_INSPECT_TOKEN';
