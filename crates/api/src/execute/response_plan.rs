//! The plan of a response: the fields that it shows, checked against the scopes of the token.
use crate::budget::ResponseBudget;
use crate::error::ApiError;
use std::sync::Arc;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::plan;
use workgraph_core::plan::{DefaultForm, ExpandPaths, FieldPaths, Plan};
use workgraph_operations::operation::ResponseKind;
use workgraph_operations::request_context::RequestContext;
use workgraph_wire::messages;

/// The fields that a response shows, the cost of naming them, and the budget of its bytes.
pub(crate) struct ResponsePlan<'b> {
    /// Type of the records in the response.
    pub(crate) ty: Type,
    pub(crate) plan: Arc<Plan>,
    pub(crate) named_fields: u32,
    /// True if the response may contain download URLs. URLs of exports require full permissions, as creating
    /// exports does; URLs of attachments require permission to read attachments.
    pub(crate) with_download_urls: bool,
    /// Bytes that the response may still take.
    pub(crate) budget: &'b ResponseBudget,
    /// The address of the API that links begin with.
    pub(crate) base_url: &'b str,
}

impl<'b> ResponsePlan<'b> {
    /// Returns the plan for a change whose full response would be too large or take too long. The change was made, so the
    /// response is not an error.
    ///
    /// # Errors
    /// Never fails for the fields of a stub.
    pub(crate) fn stub(&self) -> Result<ResponsePlan<'b>, DomainError> {
        let fields = FieldPaths::parse("resource_type")?;
        Ok(ResponsePlan {
            ty: self.ty,
            plan: plan::resolve_fields(self.ty, &fields).plan,
            named_fields: 0,
            with_download_urls: self.with_download_urls,
            budget: self.budget,
            base_url: self.base_url,
        })
    }
}

/// Returns the plan of the response, if the scopes of the token allow it.
pub(crate) fn response_plan<'b>(
    call: &'b RequestContext<'_>,
    budget: &'b ResponseBudget,
) -> Result<ResponsePlan<'b>, ApiError> {
    response_plan_for(call, budget, call.operation.named_fields_type())
}

/// Returns the plan of a response with records of a type, if the scopes of the token allow it.
pub(crate) fn response_plan_for<'b>(
    call: &'b RequestContext<'_>,
    budget: &'b ResponseBudget,
    ty: Type,
) -> Result<ResponsePlan<'b>, ApiError> {
    let grant = call.grant;
    let by_name = call.operation.response == ResponseKind::Names;
    let reads_files = ty == Type::Attachment && grant.scopes.allows("attachments:read");
    let files = grant.scopes.is_full() || reads_files;
    let asked = if let Some(fields) = &call.options.fields {
        let names = FieldPaths::parse(&fields.join(","))?;
        Some(if by_name {
            plan::resolve_fields_of_lookup(ty, &names)
        } else if call.operation.lists_variants {
            plan::resolve_fields_of_items(ty, &names)
        } else {
            plan::resolve_fields(ty, &names)
        })
    } else if let Some(expand) = &call.options.expand {
        let form = match call.operation.response {
            ResponseKind::List(_) if call.operation.lists_variants => DefaultForm::Items,
            ResponseKind::List(_) => DefaultForm::Compact,
            ResponseKind::Names => DefaultForm::Lookup,
            _ => DefaultForm::Full,
        };
        let paths = ExpandPaths::parse(&expand.join(","))?;
        Some(plan::resolve_expansion(ty, form, &paths)?)
    } else {
        None
    };
    if let Some(asked) = asked {
        if let Some((scope, field)) = asked
            .scopes
            .iter()
            .find(|(scope, _)| !grant.scopes.allows(scope))
        {
            return Err(ApiError::Scope(messages::missing_scope(field, scope)));
        }
        return Ok(ResponsePlan {
            ty,
            plan: asked.plan,
            named_fields: asked.cost,
            with_download_urls: files,
            budget,
            base_url: call.base_url(),
        });
    }
    let plan = match call.operation.response {
        ResponseKind::List(_) => plan::compact(ty),
        ResponseKind::Names => {
            plan::resolve_fields(ty, &FieldPaths::parse("name,resource_type")?).plan
        }
        _ => plan::full(ty),
    };
    Ok(ResponsePlan {
        ty,
        plan,
        named_fields: 0,
        with_download_urls: files,
        budget,
        base_url: call.base_url(),
    })
}
